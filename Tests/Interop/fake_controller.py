"""What answers on the port of a radio and is no good controller. One mode a server; each takes one client."""
import socket
import threading

# Answers in H4: the event, its length, one credit, the opcode, status and parameters.
RESET = bytes.fromhex("040e0401030c00")
VERSION = bytes.fromhex("040e0c010110000c00000cffff0000")
# Core 6.0, Vol 4, Part E, 7.4.3: bit 38 of the features is LE, bit 37 BR/EDR not supported.
FEATURES_WITHOUT_LE = bytes.fromhex("040e0c010310000000000000000000")
COMMANDS = bytes.fromhex("040e44010210") + b"\x00" + b"\xff" * 64

HTTP = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
# Not a packet type of H4 (Core 6.0, Vol 4, Part A, 2) among its first octets.
GARBAGE = bytes(range(0x30, 0x90))


def opcode_of(packet):
    return packet[1] | packet[2] << 8


class FakeController:
    def __init__(self, mode):
        self.mode = mode
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            client, _ = self.server.accept()
            with client:
                if self.mode == "closes at once":
                    return
                while packet := client.recv(300):
                    client.sendall(self.answer(packet))
        except OSError:
            pass  # The case has closed the server, or our program has left.

    def answer(self, packet):
        if self.mode == "http":
            return HTTP
        if self.mode == "silent":
            return b""
        if self.mode == "hangs after reset":
            return RESET if opcode_of(packet) == 0x0C03 else b""
        if self.mode == "garbage":
            return RESET + GARBAGE
        assert self.mode == "no LE", self.mode
        known = {0x0C03: RESET, 0x1001: VERSION, 0x1003: FEATURES_WITHOUT_LE, 0x1002: COMMANDS}
        unknown = bytes([0x04, 0x0E, 0x04, 0x01]) + packet[1:3] + b"\x01"
        return known.get(opcode_of(packet), unknown)

    def close(self):
        self.server.close()


class GarblingRelay:
    """Stands between a host and a good controller. Once a link carries data, octets that are no packet come before
    each of the controller's packets."""

    def __init__(self, port):
        self.target = port
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            client, _ = self.server.accept()
            controller = socket.create_connection(("127.0.0.1", self.target), 5)
            controller.settimeout(None)
            with client, controller:
                threading.Thread(target=self.carry, args=(client, controller), daemon=True).start()
                carries_data = False
                packets = controller.makefile("rb")
                while packet := self.packet(packets):
                    client.sendall(GARBAGE + packet if carries_data else packet)
                    carries_data = carries_data or packet[0] == 0x02
        except OSError:
            pass

    @staticmethod
    def packet(stream):
        """One H4 packet, an event (4) or ACL data (2): Core 6.0, Vol 4, Part A, 2. Empty at the end."""
        kind = stream.read(1)
        head = stream.read(2 if kind == b"\x04" else 4)
        return kind + head + stream.read(head[1] if kind == b"\x04" else head[2] | head[3] << 8) if head else b""

    @staticmethod
    def carry(source, sink):
        try:
            while octets := source.recv(4096):
                sink.sendall(octets)
            sink.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def close(self):
        self.server.close()
