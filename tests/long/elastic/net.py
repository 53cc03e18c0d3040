"""Machines on one machine: a network namespace for each, joined by a bridge."""
import subprocess


class Net:
    """A bridge in a namespace of its own, and a namespace for each agent behind a link with a limited rate."""

    def __init__(self, tag, count, rate):
        self.tag, self.count = tag, count
        self.run("ip", "netns", "add", f"{tag}-hub")
        hub = ["ip", "-n", f"{tag}-hub"]
        self.run(*hub, "link", "add", "br0", "type", "bridge")
        self.run(*hub, "addr", "add", "10.231.8.254/24", "dev", "br0")
        self.run(*hub, "link", "set", "br0", "up")
        self.run(*hub, "link", "set", "lo", "up")
        for i in range(count):
            ns = self.name(i)
            self.run("ip", "netns", "add", ns)
            self.run("ip", "link", "add", "v0", "netns", ns, "type", "veth", "peer", "name", f"p{i}", "netns", f"{tag}-hub")
            self.run(*hub, "link", "set", f"p{i}", "master", "br0")
            self.run(*hub, "link", "set", f"p{i}", "up")
            self.run("ip", "-n", ns, "addr", "add", f"10.231.8.{i + 1}/24", "dev", "v0")
            self.run("ip", "-n", ns, "link", "set", "v0", "up")
            self.run("ip", "-n", ns, "link", "set", "lo", "up")
            for where, device in ((ns, "v0"), (f"{tag}-hub", f"p{i}")):
                self.run("tc", "-n", where, "qdisc", "add", "dev", device, "root", "tbf", "rate", rate, "burst", "256kb", "latency",
                         "50ms")

    def run(self, *words):
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def name(self, i):
        return f"{self.tag}-{i}"

    def inside(self, i):
        return ["ip", "netns", "exec", self.name(i)]

    def hub(self):
        return ["ip", "netns", "exec", f"{self.tag}-hub"]

    def cut(self, i, down):
        self.run("ip", "-n", self.name(i), "link", "set", "v0", "down" if down else "up")

    def remove(self):
        for ns in [f"{self.tag}-hub"] + [self.name(i) for i in range(self.count)]:
            subprocess.run(["ip", "netns", "del", ns], stderr=subprocess.DEVNULL)


class NoNet:
    def inside(self, i):
        return []

    def hub(self):
        return []

    def remove(self):
        pass
