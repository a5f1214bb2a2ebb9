package binapi

import (
	"context"

	"go.fd.io/govpp/binapi/vlib"
)

// noFile is a file that VPP cannot open.
const noFile = "/nonexistent/tenuto"

// Reap makes VPP drop the clients whose processes have ended; it does so soon afterwards. VPP can
// overlook the end of a client: when it has read the end of the file, vl_socket_read_ready
// (socket_api.c, 22.10 to 26.06) compares errno with EAGAIN, although errno is then the one of an
// earlier call, such as a send to a client that was slow. Such a client stays in the list of clients,
// and VPP uses a whole CPU, until a call fails with another errno: here, because a file does not exist.
func (c *Conn) Reap(ctx context.Context) {
	_ = c.Call(ctx, &vlib.CliInband{Cmd: "exec " + noFile}, &vlib.CliInbandReply{})
}
