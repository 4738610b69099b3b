"""Encode a text as a link: `ridgepoint://scenario/1/…`, short enough for a message.

The last part is base64url of a checksum (CRC-32, 4 bytes) and the deflated text. A link is data:
reading one opens no file and runs no code.
"""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from typing import Literal, cast, get_args

from simulator.errors import InputError
from simulator.formats.toml import shown

Kind = Literal["scenario", "plan"]
SCHEME = "ridgepoint://"
_VERSION = 1
_MOST_LETTERS = 2**16
_MOST_BYTES = 2**18
"""Maximum length of the text, that of the largest plan."""
_DICTIONARY = (
    b'[[whatif]]\nname = "cuda_graph"\nname = "precision"\ndtype = "fp8"\n[sizes]\n[prices]\n'
    b'energy = "0.12 USD/kWh"\npue = 1.2\n[candidates]\ngpus = ["h200", "h100", "b200", "a100", '
    b'"l40s"]\ncounts = [1, 2, 4, 8]\nengines = ["vllm", "eager"]\nprecisions = ["bf16"]\n[limits]'
    b'\nper_token = "50 ms"\nfirst_token = "1 s"\npercentile = 99\n[load]\nrate = "20/s"\n'
    b'[workload]\nkind = "serving"\nnetwork = "llama3-8b"\nprompt = 1024\noutput = 300\n'
    b'format = "ridgepoint-scenario"\nversion = 1\nnetwork = "bert-base"\ngpu = "h200"\n'
    b'mode = "compiled"\nmode = "eager"\nbatch = 64\nseq = 128\ndtype = "bf16"\ntraining = true\n'
    b'optimizer = "adamw"\n'
)
"""The dictionary that compresses links of version 1; it never changes within a version."""


def is_link(text: str) -> bool:
    """Whether a text begins like a link."""
    return text.strip().lower().startswith(SCHEME)


def link(kind: Kind, text: str) -> str:
    """Encode a text as a link. Raises InputError if the text is too long for a link."""
    raw = text.encode()
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zdict=_DICTIONARY)
    packed = zlib.crc32(raw).to_bytes(4) + deflate.compress(raw) + deflate.flush()
    data = urlsafe_b64encode(packed).decode().rstrip("=")
    address = f"{SCHEME}{kind}/{_VERSION}/{data}"
    if len(raw) > _MOST_BYTES or len(address) > _MOST_LETTERS:
        raise InputError(
            f"the {kind} is too long for a link: expected {_MOST_BYTES:,} bytes at most; save it "
            "as a file"
        )
    return address


def parts(address: str) -> tuple[Kind, str]:
    """The kind and the text of a link; white space in the link is ignored.

    Raises InputError if the link is invalid, damaged, too long, or of another version.
    """
    if len(address) > 2 * _MOST_LETTERS:
        raise InputError(
            f"the link has {len(address):,} characters: expected {_MOST_LETTERS:,} at most; check "
            "what was pasted"
        )
    address = "".join(address.split())
    kind, _, rest = address[len(SCHEME) :].partition("/")
    version, _, data = rest.partition("/")
    if not is_link(address) or kind not in get_args(Kind):
        raise InputError(
            f"{shown(address)} is not a link: expected {SCHEME}scenario/… or {SCHEME}plan/…, as "
            "Copy link writes it"
        )
    if version != str(_VERSION):
        raise InputError(
            f"the link has version {shown(version)}: expected {_VERSION}; copy it again with this "
            "version of Ridgepoint"
        )
    return cast("Kind", kind), _text(data.rstrip("/="))


def _text(data: str) -> str:
    try:
        packed = urlsafe_b64decode(data + "=" * (-len(data) % 4))
        inflate = zlib.decompressobj(-15, zdict=_DICTIONARY)
        raw = inflate.decompress(packed[4:], _MOST_BYTES)
        whole = inflate.eof and not inflate.unused_data
        if whole and zlib.crc32(raw).to_bytes(4) == packed[:4]:
            return raw.decode()
    except (Error, ValueError, zlib.error):
        pass
    raise InputError(
        "the link is damaged: its checksum differs: expected the complete link from Copy link; "
        "copy it again"
    )
