package vppsim_test

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"go.fd.io/govpp/binapi/memclnt"
)

// FuzzRequests sends arbitrary bodies of arbitrary messages to one simulator: it must
// survive and answer a ping behind them.
func FuzzRequests(f *testing.F) {
	_, socket := startSimulator(f, vppsim.Options{HostInterface: func(string) bool { return true }})
	names := make([]string, 0, 256)
	for nameCRC := range dial(f, socket).ids {
		names = append(names, nameCRC)
	}
	slices.Sort(names)
	f.Add("create_loopback_42bb5d22", []byte{0, 0, 0, 0, 0, 1})
	f.Add("ip_route_add_del_b8ecfe0d", make([]byte, 300))
	f.Add("cli_inband_f8377302", []byte("\x00\x00\x00\x08show int"))
	f.Add("bridge_domain_dump_74396a43", []byte{255, 255, 255, 255, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, which string, body []byte) {
		c := dial(t, socket)
		id, known := c.ids[which]
		if !known && len(which) > 0 {
			id = c.ids[names[(int(which[0])<<8+len(which))%len(names)]]
		}
		if id <= 18 {
			return // the connection's own business
		}
		payload := binary.BigEndian.AppendUint16(nil, id)
		payload = binary.BigEndian.AppendUint32(payload, c.index)
		payload = binary.BigEndian.AppendUint32(payload, 1<<31)
		c.write(append(payload, body...))
		ping := c.send(&memclnt.ControlPing{})
		for {
			answer, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			if binary.BigEndian.Uint16(answer) == 24 && binary.BigEndian.Uint32(answer[2:]) == ping {
				return
			}
		}
	})
}
