// A CUDA device that does nothing. It answers the queries that autograd makes before it records an
// op; a build of PyTorch without CUDA has no answer and ends the process. One device, one stream,
// no memory. It is loaded before torch, because torch caches its first query for hooks.

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace {

using c10::Device;
using c10::DeviceType;
using c10::Stream;

struct OneDevice final : c10::impl::NoOpDeviceGuardImpl<DeviceType::CUDA> {
  Device getDevice() const override { return Device(DeviceType::CUDA, 0); }
  Device exchangeDevice(Device) const override { return getDevice(); }
  Stream getStream(Device) const noexcept override { return only(); }
  Stream getDefaultStream(Device) const override { return only(); }
  Stream exchangeStream(Stream) const noexcept override { return only(); }

 private:
  static Stream only() noexcept { return Stream(Stream::DEFAULT, Device(DeviceType::CUDA, 0)); }
};

}  // namespace

namespace at {

struct CUDAHooks : public CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}
  bool isBuilt() const override { return true; }
  bool hasPrimaryContext(DeviceIndex) const override { return true; }
};

REGISTER_CUDA_HOOKS(CUDAHooks)

}  // namespace at

// Returns 0 if this build of torch has its own guard, 1 if this one was installed.
extern "C" int install_cuda_guard() {
  if (c10::impl::hasDeviceGuardImpl(DeviceType::CUDA)) return 0;
  c10::impl::registerDeviceGuard(DeviceType::CUDA, new OneDevice());
  return 1;
}
