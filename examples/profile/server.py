"""A server whose profiler is switched by requests, as vLLM's: python3 server.py FOLDER

    POST /start_profile, POST /generate, POST /stop_profile
"""
import http.server
import json
import sys

import torch
from kino.integrations.serving import ProfileSwitch

switch = ProfileSwitch(sys.argv[1], record_shapes=True)
model = torch.nn.Linear(64, 64)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        work = {"/start_profile": switch.start, "/stop_profile": switch.stop, "/generate": lambda: model(torch.randn(4, 64)).sum().item()}.get(self.path)
        answer = json.dumps(work() if work else None).encode()
        self.send_response(200 if work else 404)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
