"""Links: short, checked, bounded, and never more than data."""

import zlib
from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import InputError
from simulator.formats import link as links
from simulator.formats.link import is_link, link, parts

TEXT = 'network = "bert-base"\nbatch = 64\n'


@given(st.text(max_size=300), st.sampled_from(["scenario", "plan"]))
def test_a_link_gives_its_text_back(text: str, kind: links.Kind) -> None:
    address = link(kind, text)
    assert parts(address) == (kind, text)
    assert address.isascii() and is_link(address) and " " not in address


def test_a_link_of_version_1_stays_readable() -> None:
    address = "ridgepoint://scenario/1/HTPb-6ONs0lwJFc0_jQNAA"
    assert parts(address)[1] == (
        'format = "ridgepoint-scenario"\nversion = 1\nnetwork = "bert-base"\ngpu = "h200"\n'
        'mode = "eager"\nbatch = 64\nseq = 128\ndtype = "bf16"\n\n[[whatif]]\nname = "cuda_graph"\n'
    )


def test_a_link_survives_a_mail() -> None:
    address = link("plan", TEXT)
    assert parts(f"  {address[:30]}\r\n {address[30:]}/ \n") == ("plan", TEXT)


@given(st.data())
def test_a_changed_letter_is_noticed(data: st.DataObject) -> None:
    address = link("scenario", TEXT)
    at = data.draw(st.integers(len("ridgepoint://scenario/1/"), len(address) - 2))
    other = data.draw(st.sampled_from("ABCxyz019-_"))
    changed = address[:at] + other + address[at + 1 :]
    if changed != address:
        with pytest.raises(InputError, match="the link is damaged"):
            parts(changed)


@given(st.text(max_size=60) | st.text(max_size=60).map(lambda t: f"ridgepoint://scenario/1/{t}"))
def test_whatever_is_pasted_is_read_or_refused(text: str) -> None:
    try:
        kind, _ = parts(text)
        assert kind in ("scenario", "plan")
    except InputError as refused:
        assert "\n" not in str(refused) and len(str(refused)) < 300


def test_each_refusal_has_the_value_and_a_remedy() -> None:
    whole = link("scenario", TEXT)
    damaged = (
        "the link is damaged: its checksum differs: expected the complete link from Copy link; "
        "copy it again"
    )
    for address, message in (
        (whole[:-3], damaged),
        (whole + "AAAA", damaged),
        ("ridgepoint://scenario/1/", damaged),
        (
            "https://example.org",
            "'https://example.org' is not a link: expected ridgepoint://scenario/… or "
            "ridgepoint://plan/…, as Copy link writes it",
        ),
        (
            whole.replace("/1/", "/2/"),
            "the link has version '2': expected 1; copy it again with this version of Ridgepoint",
        ),
        (
            "ridgepoint://" + "x" * 200_000,
            "the link has 200,013 characters: expected 65,536 at most; check what was pasted",
        ),
    ):
        with pytest.raises(InputError) as refused:
            parts(address)
        assert str(refused.value) == message


def test_a_small_link_cannot_fill_the_memory() -> None:
    raw = b"a" * 2**24
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zdict=links._DICTIONARY)
    packed = zlib.crc32(raw).to_bytes(4) + deflate.compress(raw) + deflate.flush()
    address = f"ridgepoint://plan/1/{urlsafe_b64encode(packed).decode().rstrip('=')}"
    assert len(address) < 2**16
    with pytest.raises(InputError, match="the link is damaged"):
        parts(address)


def test_a_text_that_is_too_long_has_no_link() -> None:
    with pytest.raises(InputError) as refused:
        link("plan", "a" * (2**18 + 1))
    assert str(refused.value) == (
        "the plan is too long for a link: expected 262,144 bytes at most; save it as a file"
    )
