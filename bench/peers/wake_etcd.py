"""How soon etcd wakes a watcher: one node, durable, with a watcher on each of many keys, over its JSON gateway.

    python bench/peers/wake_etcd.py ETCD DIRECTORY WATCHERS SECONDS

Each key is put once, paced over SECONDS. Prints the times from sending a put to receiving its event. Without TLS, which favours etcd.
"""

import asyncio
import base64
import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def post(port: int, path: str, body: object) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    send(writer, path, body)
    await reader.readuntil(b"\r\n\r\n")
    return reader, writer


def send(writer: asyncio.StreamWriter, path: str, body: object) -> None:
    data = json.dumps(body).encode()
    writer.write(b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), len(data), data))


async def watch(port: int, key: str, events: dict[str, float]) -> asyncio.Task[None]:
    reader, writer = await post(port, "/v3/watch", {"create_request": {"key": encode(key)}})
    await reader.readuntil(b"created")

    async def follow() -> None:
        await reader.readuntil(b'"events"')
        events[key] = time.perf_counter()
        writer.close()

    return asyncio.create_task(follow())


async def main(port: int, watchers: int, seconds: float) -> None:
    for _ in range(100):
        try:
            _, writer = await post(port, "/v3/kv/put", {"key": encode("ready"), "value": encode("x")})
            break
        except OSError:
            await asyncio.sleep(0.1)
    events: dict[str, float] = {}
    sent: dict[str, float] = {}
    tasks = [await watch(port, f"key{number:05d}", events) for number in range(watchers)]
    began_s = time.perf_counter()
    for number in range(watchers):
        await asyncio.sleep(max(0.0, began_s + seconds * number / watchers - time.perf_counter()))
        key = f"key{number:05d}"
        sent[key] = time.perf_counter()
        send(writer, "/v3/kv/put", {"key": encode(key), "value": encode("x")})
    await asyncio.wait_for(asyncio.gather(*tasks), 30)
    taken = sorted(events[key] - sent[key] for key in events)
    figures = {
        "waiters": watchers,
        "wake_p50_ms": median(taken) * 1e3,
        "wake_p99_ms": taken[int(len(taken) * 0.99)] * 1e3,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    program, directory, count, pace_s = sys.argv[1:]
    client, peer = free_port(), free_port()
    url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
    words = ["--data-dir", directory, "--listen-client-urls", url, "--advertise-client-urls", url]
    words += ["--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url]
    words += ["--initial-cluster", f"default={peer_url}", "--log-level", "error"]
    Path(directory).mkdir(parents=True, exist_ok=True)
    with subprocess.Popen([program, *words]) as process:
        try:
            asyncio.run(main(client, int(count), float(pace_s)))
        finally:
            process.kill()
