"""What answers on the port of a radio and is no good controller. One mode a server; each takes one client."""
import socket
import threading

# Answers of a controller without LE, H4: the event, its length, one credit, the opcode, status and parameters.
# Core 6.0, Vol 4, Part E, 7.4.3: bit 38 of the features is LE, bit 37 BR/EDR not supported.
RESET = bytes.fromhex("040e0401030c00")
VERSION = bytes.fromhex("040e0c010110000c00000cffff0000")
FEATURES_WITHOUT_LE = bytes.fromhex("040e0c010310000000000000000000")
COMMANDS = bytes.fromhex("040e44010210") + b"\x00" + b"\xff" * 64


def opcode_of(packet):
    return packet[1] | packet[2] << 8


class FakeController:
    def __init__(self, mode):
        self.mode = mode
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        client, _ = self.server.accept()
        with client:
            while packet := client.recv(300):
                for answer in self.answers(packet):
                    client.sendall(answer)

    def answers(self, packet):
        if self.mode == "http":
            return [b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"]
        if self.mode == "silent":
            return []
        if self.mode == "hangs after reset":
            return [RESET] if opcode_of(packet) == 0x0C03 else []
        if self.mode == "garbage":
            return [RESET, bytes(range(0x30, 0x90))]
        assert self.mode == "no LE"
        known = {0x0C03: RESET, 0x1001: VERSION, 0x1003: FEATURES_WITHOUT_LE, 0x1002: COMMANDS}
        unknown = bytes([0x04, 0x0E, 0x04, 0x01]) + packet[1:3] + b"\x01"
        return [known.get(opcode_of(packet), unknown)]

    def close(self):
        self.server.close()
