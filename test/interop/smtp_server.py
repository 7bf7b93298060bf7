# aiosmtpd with a password after STARTTLS, which writes each email to a file.
import os
import ssl
import time

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

FOLDER = os.environ["FOLDER"]
RIGHT = LoginPassword(b"postern", b"fixture-password-of-smtp")
context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
context.load_cert_chain(f"{FOLDER}/tls.crt", f"{FOLDER}/tls.key")


class Handler:
    async def handle_DATA(self, server, session, envelope):
        with open(f"{FOLDER}/mail/{time.time()}", "wb") as file:
            file.write(envelope.content)
        return "250 OK"


class Server(Controller):
    def factory(self):
        return SMTP(
            self.handler,
            tls_context=context,
            require_starttls=True,
            auth_required=True,
            authenticator=lambda server, session, envelope, mechanism, data: AuthResult(success=data == RIGHT, handled=False),
        )


server = Server(Handler(), hostname="127.0.0.1", port=int(os.environ["PORT"]))
server.start()
print("ready", flush=True)
while True:
    time.sleep(60)
