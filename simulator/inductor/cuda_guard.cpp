// What autograd asks of a CUDA device before it records an op, answered by a device that does
// nothing: a build of PyTorch without CUDA has no such answer and ends the process. One device,
// one stream, no memory. Loaded before torch, whose first question about hooks is remembered.

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

// 0 where this build of torch has a guard of its own, 1 where this one was installed.
extern "C" int install_cuda_guard() {
  if (c10::impl::hasDeviceGuardImpl(DeviceType::CUDA)) return 0;
  c10::impl::registerDeviceGuard(DeviceType::CUDA, new OneDevice());
  return 1;
}
