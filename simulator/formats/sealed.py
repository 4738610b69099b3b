"""Prefix content with its digest, to detect truncated or changed files."""

from __future__ import annotations

from hashlib import sha256

from simulator.errors import InputError

_DIGEST_BYTES = sha256().digest_size


def sealed(content: bytes) -> bytes:
    """The content, preceded by its digest."""
    return sha256(content).digest() + content


def opened(data: bytes, source: str) -> bytes:
    """The content of sealed data. Raises InputError, naming `source`, if its digest differs."""
    digest, content = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if sha256(content).digest() != digest:
        raise InputError(
            f"{source} is damaged: its content does not match its digest; delete the file"
        )
    return content
