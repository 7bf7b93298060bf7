# The Python SDK, mcp, as a desktop app would use it, against a server of this folder.
import asyncio, importlib.metadata, os, subprocess, sys, urllib.error, urllib.parse, urllib.request
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

issuer, app = os.environ["ISSUER"], os.environ["APP"]
resource = f"{app}/mcp"
callback = f"{app}/callback"
IDS = {"registered": "mcp", "pinned": "https://docs.example/pinned.json"}
if os.environ.get("DOCUMENTS") == "1":
    IDS["fetched"] = "https://docs.example/client.json"
print("version", importlib.metadata.version("mcp"), flush=True)


def ok(condition, what, seen=None):
    if not condition:
        sys.exit(f"{what}: {seen}")
    print("ok", what, flush=True)


class Storage:
    def __init__(self, client_info):
        self.client_info, self.tokens = client_info, None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client_info

    async def set_client_info(self, client_info):
        self.client_info = client_info


async def main(kind, client_id):
    visits = []
    answers = []
    known = OAuthClientInformationFull(
        client_id=client_id, redirect_uris=[callback], token_endpoint_auth_method="none"
    )
    storage = Storage(known if kind == "registered" else None)

    async def redirect(url):
        print("visit", url, flush=True)
        visits.append(url)
        answers.append(sys.stdin.readline().strip())

    async def answer():
        query = urllib.parse.parse_qs(urllib.parse.urlparse(answers.pop()).query)
        got = {name: query.get(name, [None])[0] for name in ("code", "state", "iss")}
        return AuthorizationCodeResult(**got)

    async def start(use):
        provider = OAuthClientProvider(
            server_url=resource,
            client_metadata=OAuthClientMetadata(
                client_name="Desktop",
                redirect_uris=[callback],
                grant_types=["authorization_code", "refresh_token"],
                token_endpoint_auth_method="none",
            ),
            storage=storage,
            redirect_handler=redirect,
            callback_handler=answer,
            client_metadata_url=None if kind == "registered" else client_id,
        )
        async with create_mcp_http_client(auth=provider) as http:
            async with Client(streamable_http_client(resource, http_client=http)) as client:
                await use(client)

    async def whoami(client):
        return (await client.call_tool("whoami", {})).content[0].text

    async def first(client):
        ok(await whoami(client) == "usr_fixture_person_ida", f"{kind}: sign-in, consent, a tool call")
        ok(len(visits) == 1, f"{kind}: one page", visits)
        before = storage.tokens.access_token
        await asyncio.sleep(5.5)
        ok(await whoami(client) == "usr_fixture_person_ida", f"{kind}: a tool call after the token expired")
        ok(
            storage.tokens.access_token != before and len(visits) == 1,
            f"{kind}: refreshed, without a page",
            visits,
        )

    async def second(client):
        ok(await whoami(client) == "usr_fixture_person_ida", f"{kind}: a second start")
        ok(len(visits) == 1, f"{kind}: without a page", visits)

    await start(first)
    await start(second)


server = subprocess.Popen(
    [sys.executable, os.path.join(os.path.dirname(__file__), "server.py")],
    env={**os.environ, "RESOURCE": resource, "PORT": str(urllib.parse.urlparse(app).port)},
    stdout=subprocess.DEVNULL,
)
try:
    while server.poll() is None:
        try:
            urllib.request.urlopen(resource, b"", timeout=5)
        except urllib.error.HTTPError:
            break
        except OSError:
            pass
    for kind, client_id in IDS.items():
        asyncio.run(main(kind, client_id))
finally:
    server.kill()
