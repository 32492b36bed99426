"""Signs release pointers and orders with a new authority, for services that are built without a signer process."""

import base64
from datetime import UTC, datetime

from precast.services.identity.authority import Authority
from precast.wire.catalogs.release_pointer import ReleasePointer, release_text, signed_release_bytes
from precast.wire.jobs.orders import ExecOrder
from precast.wire.jobs.signed_orders import order_text, signed_order_bytes


class DocumentSigner:
    """Counts what it signs."""

    def __init__(self, authority: Authority | None = None) -> None:
        self.authority = authority or Authority.new(datetime.now(UTC))
        self.count = 0

    async def sign_release(self, release: ReleasePointer) -> str:
        return self._sign(signed_release_bytes(release_text(release)))

    async def sign_order(self, order: ExecOrder) -> str:
        return self._sign(signed_order_bytes(order_text(order)))

    def _sign(self, data: bytes) -> str:
        self.count += 1
        return base64.b64encode(self.authority.sign_document(data)).decode()
