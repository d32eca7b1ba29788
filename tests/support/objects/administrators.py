"""Those who change Secrets and ConfigMaps in stories: at an API server in memory, or in a directory."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from typing_extensions import override

from messages.api import ApiRequest, Verb
from messages.objects import ObjectKind
from messages.pods import JsonObject
from tests.support.apiserver.fake_api import FakeApi
from tests.support.canary import hidden
from tests.support.files.fake_directory_watches import FakeDirectoryWatches
from tests.support.kernel.stage import Stage

NAMESPACE = "shop"

PLURALS: Final = {ObjectKind.SECRET: "secrets", ObjectKind.CONFIG_MAP: "configmaps"}


class Administrator(ABC):
    """Somebody who has a hand on the objects of one kind, where a store reads them."""

    def __init__(self, kind: ObjectKind) -> None:
        self.kind = kind

    @abstractmethod
    def write(self, document: JsonObject) -> None:
        """Have this object, instead of one that there was."""

    def put(self, name: str, *, namespace: str = NAMESPACE, **data: str) -> None:
        """Have an object with this data and no other."""
        self.write(self._document(name, namespace, data))

    def breaks(self, name: str, text: str) -> None:
        """Have an object whose only value is no base64."""
        field = "data" if self.kind is ObjectKind.SECRET else "binaryData"
        self.write({**self._document(name, NAMESPACE, {}), field: {"a": text}})

    @abstractmethod
    def remove(self, name: str) -> None:
        """Have no such object."""

    @abstractmethod
    def goes_away(self) -> None:
        """Have nobody reach the objects."""

    @abstractmethod
    def comes_back(self) -> None:
        """Have everybody reach them again."""

    @abstractmethod
    def unnoticed(self) -> AbstractContextManager[None]:
        """Have nobody be told for a while what changes: who wants to know it has to look."""

    def _document(self, name: str, namespace: str, data: dict[str, str]) -> JsonObject:
        data = {key: hidden(each) for key, each in data.items()}
        if self.kind is ObjectKind.SECRET:
            data = {key: base64.b64encode(each.encode()).decode() for key, each in data.items()}
        metadata = {"namespace": namespace, "name": name}
        return {"apiVersion": "v1", "kind": self.kind, "metadata": metadata, "data": data}


class ApiAdministrator(Administrator):
    """An administrator of the cluster."""

    def __init__(self, kind: ObjectKind, api: FakeApi) -> None:
        super().__init__(kind)
        self._api = api
        self._plural = PLURALS[kind]

    @override
    def write(self, document: JsonObject) -> None:
        metadata, store = document["metadata"], self._api.store
        place = (self._plural, metadata["namespace"], metadata["name"])
        if not store.has(*place):
            store.add(document)
            return
        version = store.get(*place)["metadata"]["resourceVersion"]
        body = {**document, "metadata": {**metadata, "resourceVersion": version}}
        path = f"/api/v1/namespaces/{metadata['namespace']}/{self._plural}/{metadata['name']}"
        store.handle(ApiRequest(verb=Verb.UPDATE, path=path, body=body))

    @override
    def remove(self, name: str) -> None:
        self._api.store.remove(self._plural, NAMESPACE, name)

    @override
    def goes_away(self) -> None:
        self._api.go_away()

    @override
    def comes_back(self) -> None:
        self._api.come_back()

    @override
    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        self._api.watches.pause()
        yield
        self._api.watches.resume()


class FileAdministrator(Administrator):
    """Somebody who writes files, which gives each object that is made anew another UID."""

    def __init__(
        self, kind: ObjectKind, path: Path, play: Stage, watches: FakeDirectoryWatches
    ) -> None:
        super().__init__(kind)
        self._path = path
        self._play = play
        self._watches = watches
        self._uids = 0
        self._is_unnoticed = False

    @override
    def remove(self, name: str) -> None:
        self._file(NAMESPACE, name).unlink()
        self._notices()

    @override
    def goes_away(self) -> None:
        self._path.rename(self._path.with_name("elsewhere"))
        self._notices()

    @override
    def comes_back(self) -> None:
        self._path.with_name("elsewhere").rename(self._path)
        self._notices()

    @override
    @contextmanager
    def unnoticed(self) -> Iterator[None]:
        self._is_unnoticed = True
        yield
        self._is_unnoticed = False

    @override
    def write(self, document: JsonObject) -> None:
        metadata = document["metadata"]
        file = self._file(metadata["namespace"], metadata["name"])
        if file.exists():
            uid = json.loads(file.read_text())["metadata"]["uid"]
        else:
            self._uids += 1
            uid = f"00000000-0000-0000-0000-{self._uids:012}"
        # As a writer does who cares: nobody sees half a file, or one that is open to all.
        new = self._path / ".new"
        new.write_text(json.dumps({**document, "metadata": {**metadata, "uid": uid}}))
        new.chmod(0o600)
        new.rename(file)
        self._notices()

    def _file(self, namespace: str, name: str) -> Path:
        return self._path / f"{namespace}-{name}.json"

    def _notices(self) -> None:
        if not self._is_unnoticed:
            self._watches.notice()
            self._play.advance(0.3)
