package binapi

import (
	"time"

	"go.fd.io/govpp/binapi/memclnt"
)

// leave asks VPP to remove the client, and waits until it has closed the connection. VPP does not
// always notice that a client has closed one: it looks at errno after an end of file, which does
// not set it (vl_socket_read_ready in src/vlibmemory/socket_api.c). From 25.06 on, a VPP with 16
// connections to remove does nothing else (vlib_file_poll in src/vlib/file.c).
func (c *Conn) leave() {
	info, err := c.table.typeOf((*memclnt.SockclntDelete)(nil))
	if err != nil || !info.known {
		return
	}
	goodbye := &memclnt.SockclntDelete{Index: c.clientIndex}
	c.mu.Lock()
	if c.closed || c.encode(request{info: info, msg: goodbye, size: info.header + goodbye.Size()}, 0) != nil {
		c.mu.Unlock()
		return
	}
	c.toWrite.Signal()
	c.mu.Unlock()
	timeout := time.NewTimer(c.opts.CloseTimeout)
	defer timeout.Stop()
	select {
	case <-c.gone:
	case <-timeout.C:
	}
}
