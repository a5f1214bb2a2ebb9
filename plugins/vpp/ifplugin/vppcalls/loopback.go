package vppcalls

import (
	"crypto/rand"
	"fmt"
	"sync"

	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppclient"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

// unanswered remembers the loopbacks that VPP may have created although no
// reply came, by their names. Their addresses, which nobody else has, tell
// whether it did: a loopback gets its tag only afterwards.
type unanswered struct {
	mu  sync.Mutex
	mac map[string]MAC
}

func (u *unanswered) take(name string) (mac MAC, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	mac, ok = u.mac[name]
	delete(u.mac, name)
	return mac, ok
}

func (u *unanswered) put(name string, mac MAC) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.mac[name] = mac
}

// CreateLoopback creates a loopback; without mac it gets a random address. The
// name is not set; it serves to find the loopback again if an earlier attempt
// ended without a reply.
func (c *Calls) CreateLoopback(name string, mac *MAC) (swIfIndex uint32, err error) {
	lost := &c.loopbacks
	if tried, ok := lost.take(name); ok {
		if swIfIndex, err = c.findLoopback(tried); err != nil {
			lost.put(name, tried)
			return NoInterface, err
		}
		if swIfIndex != NoInterface {
			return swIfIndex, c.adoptLoopback(swIfIndex, tried, mac)
		}
	}
	req, reply := &interfaces.CreateLoopback{}, &interfaces.CreateLoopbackReply{}
	if mac != nil {
		req.MacAddress = *mac
	} else if req.MacAddress, err = randomMAC(); err != nil {
		return NoInterface, err
	}
	if err := c.vpp.Call(req, reply); err != nil {
		if vppclient.OutcomeUnknown(err) {
			lost.put(name, req.MacAddress)
		}
		return NoInterface, err
	}
	return uint32(reply.SwIfIndex), nil
}

// findLoopback returns the loopback without tag that has the address.
func (c *Calls) findLoopback(mac MAC) (swIfIndex uint32, err error) {
	all, err := c.DumpInterfaces()
	for _, d := range all {
		if d.Tag == "" && d.MAC == mac && IsLoopbackName(d.Name) {
			return d.SwIfIndex, nil
		}
	}
	return NoInterface, err
}

func (c *Calls) adoptLoopback(swIfIndex uint32, has MAC, wanted *MAC) error {
	if wanted == nil || has == *wanted {
		return nil
	}
	return c.SetMAC(swIfIndex, *wanted)
}

// randomMAC makes up an address that is marked as such (locally administered).
func randomMAC() (MAC, error) {
	var mac MAC
	if _, err := rand.Read(mac[:]); err != nil {
		return mac, fmt.Errorf("random MAC address: %w", err)
	}
	mac[0] = mac[0]&^1 | 2
	return mac, nil
}

// DeleteLoopback deletes a loopback. If it does not exist, that is a success.
func (c *Calls) DeleteLoopback(swIfIndex uint32) error {
	err := c.vpp.Call(&interfaces.DeleteLoopback{
		SwIfIndex: interface_types.InterfaceIndex(swIfIndex),
	}, &interfaces.DeleteLoopbackReply{})
	if session.Gone(err) {
		return nil
	}
	return err
}

// IsLoopbackName tells whether VPP gave the name to a loopback.
func IsLoopbackName(internalName string) bool {
	return len(internalName) > len(loopbackPrefix) && internalName[:len(loopbackPrefix)] == loopbackPrefix
}

// loopbackPrefix is how VPP names loopbacks ("loop0").
const loopbackPrefix = "loop"
