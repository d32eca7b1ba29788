"""The messages between a kubelet and a CSI driver, as far as the tests' driver has a use for them.

Fields have the numbers of the specification (version 1.3); those that are not here are left out on the wire.
"""

from __future__ import annotations

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

_TEXT: Final = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
_NUMBER: Final = descriptor_pb2.FieldDescriptorProto.TYPE_INT32
_YES: Final = descriptor_pb2.FieldDescriptorProto.TYPE_BOOL
_MESSAGES: Final[dict[str, dict[str, tuple[int, Any]]]] = {
    # How a driver makes itself known to a kubelet.
    "InfoRequest": {},
    "PluginInfo": {
        "type": (1, _TEXT),
        "name": (2, _TEXT),
        "endpoint": (3, _TEXT),
        "supported_versions": (4, [_TEXT]),
    },
    "RegistrationStatus": {"plugin_registered": (1, _YES), "error": (2, _TEXT)},
    # What a kubelet asks of it.
    "NodeInfo": {"node_id": (1, _TEXT)},
    "Rpc": {"type": (1, _NUMBER)},
    "Capability": {"rpc": (1, "Rpc")},
    "Capabilities": {"capabilities": (1, ["Capability"])},
    "Stage": {"volume_id": (1, _TEXT), "staging_target_path": (3, _TEXT)},
    "Unstage": {"volume_id": (1, _TEXT), "staging_target_path": (2, _TEXT)},
    "Publish": {
        "volume_id": (1, _TEXT),
        "staging_target_path": (3, _TEXT),
        "target_path": (4, _TEXT),
    },
    "Unpublish": {"volume_id": (1, _TEXT), "target_path": (2, _TEXT)},
    "Empty": {},
}
STAGES_VOLUMES: Final = 1
"""The number of the capability STAGE_UNSTAGE_VOLUME."""


def _classes() -> dict[str, type[Message]]:
    file = descriptor_pb2.FileDescriptorProto(name="tests_csi.proto", package="t", syntax="proto3")
    for name, fields in _MESSAGES.items():
        made = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            one = kind[0] if isinstance(kind, list) else kind
            added = made.field.add(name=field, number=number)
            is_many = isinstance(kind, list)
            added.label = added.LABEL_REPEATED if is_many else added.LABEL_OPTIONAL
            if isinstance(one, str):
                added.type, added.type_name = added.TYPE_MESSAGE, f".t.{one}"
            else:
                added.type = one
    return message_factory.GetMessages([file], pool=descriptor_pool.DescriptorPool())


CLASSES: Final = {name.removeprefix("t."): each for name, each in _classes().items()}


def message(kind: str, /, **fields: Any) -> Message:
    """Return a message."""
    return CLASSES[kind](**fields)
