import os
import jwt
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

issuer = os.environ["ISSUER"]  # https://id.example.com
resource = os.environ["RESOURCE"]  # https://mcp.example.com/mcp
keys = jwt.PyJWKClient(f"{issuer}/oauth/jwks.json")


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            if jwt.get_unverified_header(token).get("typ") != "at+jwt":
                return None
            key = keys.get_signing_key_from_jwt(token)
            claims = jwt.decode(token, key, ["RS256"], audience=resource, issuer=issuer)
        except jwt.InvalidTokenError:
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=claims["scope"].split(),
            expires_at=claims["exp"],
            resource=resource,
            subject=claims["sub"],
        )


mcp = MCPServer(
    "notes",
    token_verifier=Verifier(),
    auth=AuthSettings(
        issuer_url=issuer,
        resource_server_url=resource,
        required_scopes=["mcp.tools"],
        validate_token_resource=True,
    ),
)


@mcp.tool()
def whoami() -> str:
    """Who is signed in"""
    return get_access_token().subject


mcp.run("streamable-http", host="127.0.0.1", port=int(os.environ["PORT"]))
