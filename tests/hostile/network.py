"""Submissions that talk to somebody: the answers, or a place to put them, are elsewhere."""

from tests.hostile.kinds import REFUSED, Kind

network = Kind("network", REFUSED)

network(
    "TCP",
    "Connects to a server on this machine.",
    """
    import socket
    s = socket.create_connection(('127.0.0.1', @tcp@), 1)
    got(s.sendall(b'hello'))
    """,
)
network(
    "TCP over IPv6",
    "Does the same with the newer protocol.",
    "import socket; got(socket.socket(socket.AF_INET6).connect(('::1', @tcp@)))",
)
network(
    "UDP",
    "Sends a packet, for which no connection is needed.",
    """
    import socket
    got(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'hello', ('127.0.0.1', @udp@)))
    """,
)
network(
    "a server",
    "Waits for instructions on a port of its own.",
    "import socket; got(socket.create_server(('127.0.0.1', 0)))",
)
network(
    "a local socket",
    "Connects to a service by its file, as to Docker's.",
    "import socket; got(socket.socket(socket.AF_UNIX).connect('@unix@'))",
)
network(
    "an abstract socket",
    "Connects to a service that has no file.",
    "import socket; got(socket.socket(socket.AF_UNIX).connect('\\0@abstract@'))",
)
network("a pair", "Makes two sockets for itself.", "import socket; got(socket.socketpair())")
network("netlink", "Asks the kernel for routes.", "import socket; got(socket.socket(16, 3, 0))")
network("packets", "Listens to the wire.", "import socket; got(socket.socket(17, 3, 768))")
network("raw", "Makes packets by hand.", "import socket; got(socket.socket(2, 3, 1))")
network("vsock", "Talks to the virtual machine's host.", "import socket; got(socket.socket(40, 1))")
network("Bluetooth", "Asks the student beside.", "import socket; got(socket.socket(31, 3, 1))")
network(
    "crypto", "Uses a socket of the kernel's ciphers.", "import socket; got(socket.socket(38, 5))"
)
network(
    "a name",
    "Looks a name up, and so tells it to whoever serves it.",
    "import socket; got(socket.getaddrinfo('example.org', 80))",
    r"^error: .*(gaierror|PermissionError)",
)
network(
    "a page",
    "Fetches the solution from the web.",
    "import urllib.request; got(urllib.request.urlopen('http://127.0.0.1:@tcp@/', timeout=1))",
    r"^error: .*(URLError|PermissionError)",
)
network(
    "an event loop",
    "Starts asyncio, which needs a pair of sockets.",
    "import asyncio; got(asyncio.run(asyncio.sleep(0)))",
    r"^error: .*(PermissionError|AttributeError)",
)
