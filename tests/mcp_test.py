#!/usr/bin/env python3
"""`ptxlab mcp`: by hand over its pipes, and with a real client (the package `mcp`) in both of the protocol's ways to begin."""
import asyncio
import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = str(pathlib.Path(os.environ.get("PTXLAB_PROGRAM", ROOT / "build/release/src/cli/ptxlab")).resolve())
WHEELS = ROOT / ".private/mcp"

ADD = (ROOT / "tasks/elementwise/vector_add_f32/baseline.ptx").read_text()
SCALE = """.version 8.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<2>;
    .reg .f32 %f<3>;
    ld.param.u64 %rd1, [x];
    cvta.to.global.u64 %rd1, %rd1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%rd3], %f2;
    ret;
}
"""
FOREVER = SCALE.replace("    ret;", "AGAIN:\n    bra AGAIN;")


class Server:
    """The program and its pipes, spoken to line by line."""

    def __enter__(self):
        self.process = subprocess.Popen([PROGRAM, "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def send(self, message):
        self.process.stdin.write((message if isinstance(message, str) else json.dumps(message)) + "\n")
        self.process.stdin.flush()

    def receive(self):
        return json.loads(self.process.stdout.readline())

    def ask(self, method, params=None, number=1):
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return self.receive()

    def begin(self, version="2025-11-25"):
        answer = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer["result"]

    def call(self, name, arguments, number=2):
        return self.ask("tools/call", {"name": name, "arguments": arguments}, number)["result"]


class Protocol(unittest.TestCase):
    def test_agrees_on_a_revision(self):
        for version in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
            with Server() as server:
                self.assertEqual(server.begin(version)["protocolVersion"], version)
        with Server() as server:
            self.assertEqual(server.begin("2199-01-01")["protocolVersion"], "2025-11-25")

    def test_every_request_may_name_its_revision_instead(self):
        def meta(version):
            return {"_meta": {"io.modelcontextprotocol/protocolVersion": version,
                              "io.modelcontextprotocol/clientCapabilities": {}}}
        with Server() as server:
            found = server.ask("server/discover", meta("2026-07-28"))["result"]
            self.assertEqual(found["supportedVersions"][0], "2026-07-28")
            self.assertEqual(found["resultType"], "complete")
            listed = server.ask("tools/list", meta("2026-07-28"))["result"]
            self.assertEqual((listed["resultType"], listed["cacheScope"]), ("complete", "public"))
            refused = server.ask("tools/list", meta("2031-01-01"))["error"]
            self.assertEqual((refused["code"], refused["data"]["requested"]), (-32022, "2031-01-01"))
            self.assertEqual(server.ask("tools/list")["error"]["code"], -32602)  # neither way

    def test_what_is_no_message_is_answered_and_the_next_one_too(self):
        with Server() as server:
            server.begin()
            for line, code in (("{", -32700), ("[" * 100000, -32700), ("[]", -32600), ("5", -32600), ('"x"', -32600),
                               ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), ('{"jsonrpc":"2.0","id":1}', -32600),
                               ('{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
                               ('{"jsonrpc":"2.0","id":1,"method":7}', -32600),
                               ('{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32602),
                               ('{"jsonrpc":"2.0","id":1,"method":"resources/list"}', -32601),
                               ('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"rm"}}', -32602),
                               ("x" * (65 << 20), -32600)):
                server.send(line)
                self.assertEqual(server.receive()["error"]["code"], code, line[:80])
            server.send("\xff\xfe".encode("latin-1").decode("latin-1"))
            self.assertEqual(server.receive()["error"]["code"], -32700)
            server.send('{"jsonrpc":"2.0","method":"notifications/unknown"}')  # not answered
            server.send("")
            self.assertEqual(server.ask("ping", number="a text")["id"], "a text")

    def test_a_pipe_that_closes_at_once_gets_its_answers(self):
        lines = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}},
                 {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "check", "arguments": {"ptx": ADD}}}]
        run = subprocess.run([PROGRAM, "mcp"], input="".join(json.dumps(line) + "\n" for line in lines),
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        answers = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual([answer["id"] for answer in answers], [1, 2])
        self.assertTrue(answers[1]["result"]["structuredContent"]["files"][0]["accepted"])


    def test_the_document_says_how_it_is_started_and_which_tools_there_are(self):
        text = (ROOT / "docs/models.md").read_text()
        block = text[text.index('{"mcpServers"'):]
        entry = json.loads(block[:block.index("```")])["mcpServers"]["ptxlab"]
        self.assertEqual(entry["args"], ["mcp"])
        with Server() as server:
            server.begin()
            tools = [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]]
        table = text[text.index("| tool | the same as |"):].split("\n\n", 1)[0]
        self.assertEqual([line.split("`")[1] for line in table.splitlines()[2:]], tools)


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().__enter__()
        cls.server.begin()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def command(self, *words, text=None):
        run = subprocess.run([PROGRAM, *words], input=text, capture_output=True, text=True, timeout=120)
        return json.loads(run.stdout)

    def test_say_what_the_commands_say(self):
        answer = self.server.call("check", {"ptx": ADD})
        self.assertFalse(answer["isError"])
        self.assertEqual(json.loads(answer["content"][0]["text"]), answer["structuredContent"])
        said = self.command("check", "--json", "-", text=ADD)
        self.assertEqual(answer["structuredContent"]["files"][0]["findings"], said["files"][0]["findings"])
        structure = self.server.call("structure", {"ptx": ADD})["structuredContent"]
        self.assertEqual(structure["schema"], "ptxlab.structure/1")
        self.assertEqual(self.server.call("tasks", {})["structuredContent"], self.command("tasks", "list", "--json"))
        self.assertEqual(self.server.call("explain", {"code": "PTX0302"})["structuredContent"],
                         self.command("explain", "PTX0302", "--json"))

    def test_findings_name_the_line(self):
        answer = self.server.call("check", {"ptx": SCALE.replace("add.f32 %f2", "add.f31 %f2")})
        self.assertFalse(answer["isError"])  # that it is wrong is the answer
        file = answer["structuredContent"]["files"][0]
        self.assertFalse(file["accepted"])
        self.assertEqual((file["findings"][0]["file"], file["findings"][0]["line"]), ("kernel.ptx", 15))
        mended = self.server.call("check", {"ptx": SCALE.replace("ret;", "ret"), "fix": True})["structuredContent"]
        self.assertTrue(mended["files"][0]["accepted"], mended)
        self.assertIn("ret;", mended["files"][0]["text"])

    def test_run_executes(self):
        answer = self.server.call("run", {"ptx": SCALE, "block": "4", "args": ["inout:f32:1,2,3,4"]})["structuredContent"]
        self.assertEqual(answer["schema"], "ptxlab.run/1")
        self.assertEqual(answer["buffers"][0]["values"], ["2", "4", "6", "8"])
        faulty = self.server.call("run", {"ptx": SCALE, "block": "5", "args": ["inout:f32:1,2,3,4"]})["structuredContent"]
        self.assertEqual(faulty["findings"][0]["code"], "RUN0003")
        self.assertIn("thread (4,0,0)", faulty["findings"][0]["message"])

    def test_judge_judges(self):
        right = self.server.call("judge", {"ptx": ADD, "task": "elementwise/vector_add_f32", "until": "emulate"})
        self.assertEqual(right["structuredContent"]["schema"], "ptxlab.verdict/1")
        self.assertIn(right["structuredContent"]["outcome"], ("same", "unverified"), right)
        wrong = self.server.call("judge", {"ptx": ADD.replace("add.f32", "sub.f32"), "task": "elementwise/vector_add_f32",
                                           "until": "emulate"})
        self.assertEqual(wrong["structuredContent"]["outcome"], "wrong")
        self.assertFalse(wrong["isError"])

    def test_what_cannot_be_done_is_findings(self):
        for name, arguments, code in (
                ("check", {}, "MCP0001"), ("check", {"ptx": 5}, "MCP0001"), ("check", {"ptx": ADD, "file": "/etc/passwd"}, "MCP0001"),
                ("check", {"ptx": "a\0b"}, "MCP0001"), ("check", [], "MCP0001"),
                ("run", {"ptx": SCALE, "args": ["in:@/etc/passwd"]}, "MCP0001"), ("run", {"ptx": SCALE, "seed": -1}, "MCP0001"),
                ("judge", {"ptx": ADD}, "MCP0001"), ("judge", {"ptx": ADD, "task": "none/such"}, "TASK0007"),
                ("judge", {"ptx": ADD, "task": "x", "until": "never"}, "MCP0001"),
                ("judge", {"ptx": ADD, "task": "elementwise/vector_add_f32", "target": "sm_1"}, None),
                ("explain", {"code": "--help"}, "MCP0001"), ("explain", {"code": "XYZ9"}, "CLI0061"),
                ("structure", {"ptx": "nothing"}, None)):
            answer = self.server.call(name, arguments)
            self.assertTrue(answer["isError"] or code is None, (name, arguments, answer))
            findings = answer["structuredContent"].get("findings", [])
            self.assertTrue(findings, (name, arguments, answer))
            if code:
                self.assertEqual(findings[0]["code"], code, (name, arguments, answer))
            self.assertTrue(findings[0]["message"])

    def test_a_call_that_takes_too_long_ends(self):
        start = time.monotonic()
        answer = self.server.call("run", {"ptx": FOREVER, "budget": 10**15, "args": ["inout:f32:1"], "timeout_seconds": 1})
        self.assertTrue(answer["isError"])
        self.assertEqual(answer["structuredContent"]["findings"][0]["code"], "MCP0002", answer)
        self.assertLess(time.monotonic() - start, 10)

    def test_a_call_that_is_given_up_ends_and_the_others_go_on(self):
        long = {"name": "run", "arguments": {"ptx": FOREVER, "budget": 10**15, "args": ["inout:f32:1"]},
                "_meta": {"progressToken": "p"}}
        self.server.send({"jsonrpc": "2.0", "id": "long", "method": "tools/call", "params": long})
        self.assertFalse(self.server.call("check", {"ptx": ADD}, "short")["isError"])  # beside it
        told = self.server.receive()  # it tells that it runs
        self.assertEqual((told["method"], told["params"]["progressToken"]), ("notifications/progress", "p"))
        again = self.server.ask("tools/call", long, "long")
        self.assertEqual(again["error"]["code"], -32600)  # the same id, still on its way
        self.server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long"}})
        time.sleep(0.5)
        self.assertEqual(self.server.ask("ping", number="after")["id"], "after")  # and no answer of the other
        self.assertFalse(self.server.call("check", {"ptx": ADD}, "long")["isError"])  # its id is free again


@unittest.skipUnless((WHEELS / "wheels.stamp").exists() or os.environ.get("CI"),
                     "the client is not there: tools/setup --mcp-client could not fetch it")
class RealClient(unittest.TestCase):
    def test_speaks_with_it_in_both_ways(self):
        sys.path.insert(0, str(WHEELS))
        from mcp import Client, StdioServerParameters

        async def talk(mode):
            parameters = StdioServerParameters(command=PROGRAM, args=["mcp"])
            async with Client(parameters, mode=mode) as client:
                listed = await client.list_tools()
                names = [tool.name for tool in listed.tools]
                self.assertEqual(names, ["check", "structure", "run", "judge", "explain", "tasks"])
                both = await asyncio.gather(
                    client.call_tool("judge", {"ptx": ADD, "task": "elementwise/vector_add_f32", "until": "emulate"}),
                    client.call_tool("check", {"ptx": "nothing"}))
                self.assertIn(both[0].structured_content["outcome"], ("same", "unverified"))
                self.assertFalse(both[1].structured_content["files"][0]["accepted"])
                wrong = await client.call_tool("judge", {"ptx": ADD, "task": "none/such"})
                self.assertTrue(wrong.is_error)
                ran = await client.call_tool("run", {"ptx": SCALE, "block": "4", "args": ["inout:f32:1,2,3,4"]})
                self.assertEqual(ran.structured_content["schema"], "ptxlab.run/1")
                shown = await client.call_tool("structure", {"ptx": ADD})
                self.assertFalse(shown.is_error)
                told = await client.call_tool("explain", {"code": "PTX0302"})
                self.assertEqual(told.structured_content["codes"][0]["code"], "PTX0302")
                return client.protocol_version

        self.assertEqual(asyncio.run(talk("auto")), "2026-07-28")
        self.assertEqual(asyncio.run(talk("legacy")), "2025-11-25")


if __name__ == "__main__":
    unittest.main(verbosity=0)
