package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim/internal/cmdline"
	"go.fd.io/govpp/api"
	"go.fd.io/govpp/binapi/ethernet_types"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/l2"
)

func (c *CLI) createLoopback(in *cmdline.Input) error {
	req := &interfaces.CreateLoopbackInstance{}
	for len(in.Args) > 0 {
		rest := in.Args
		var err error
		switch in.Next() {
		case "mac":
			req.MacAddress, err = ethernet_types.ParseMacAddress(in.Next())
		case "instance":
			var instance uint64
			instance, err = strconv.ParseUint(in.Next(), 10, 32)
			req.IsSpecified, req.UserInstance = true, uint32(instance)
		default:
			err = errors.ErrUnsupported
		}
		if err != nil {
			return cmdline.UnknownInput(rest)
		}
	}
	reply, _ := call[*interfaces.CreateLoopbackInstanceReply](c, req)
	if reply == nil || reply.Retval != 0 {
		return errors.New("vnet_create_loopback_interface failed")
	}
	in.Line("%s", c.net.InterfaceName(uint32(reply.SwIfIndex)))
	return nil
}

func (c *CLI) createPacketGenerator(in *cmdline.Input) error {
	rest := in.Args
	name := in.Next()
	if number, isPG := strings.CutPrefix(name, "pg"); !isPG || strings.Trim(number, "0123456789") != "" || len(in.Args) > 0 {
		return cmdline.UnknownInput(rest)
	}
	if !c.net.CreatePacketGenerator(name) {
		return fmt.Errorf("interface name %s already in use", name)
	}
	in.Line("%s", name)
	return nil
}

func (c *CLI) deleteLoopback(in *cmdline.Input) error {
	d, err := c.namedInterface(in, "intfc")
	if err != nil {
		return err
	}
	reply, _ := call[*interfaces.DeleteLoopbackReply](c, &interfaces.DeleteLoopback{SwIfIndex: d.SwIfIndex})
	if reply == nil || reply.Retval != 0 {
		return errors.New("vnet_delete_loopback_interface failed")
	}
	return nil
}

// namedInterface takes an interface from the arguments, behind a keyword if one is
// given.
func (c *CLI) namedInterface(in *cmdline.Input, keyword string) (*interfaces.SwInterfaceDetails, error) {
	if keyword != "" && in.Next() != keyword {
		return nil, errors.New("interface not specified")
	}
	rest := in.Args
	if d := c.interfaceByName(in.Next()); d != nil {
		return d, nil
	}
	if len(rest) == 0 {
		rest = []string{""}
	}
	return nil, fmt.Errorf("unknown interface `%s'", rest[0])
}

func (c *CLI) setInterfaceState(in *cmdline.Input) error {
	d, err := c.namedInterface(in, "")
	if err != nil {
		return err
	}
	req := &interfaces.SwInterfaceSetFlags{SwIfIndex: d.SwIfIndex}
	switch rest := in.Args; in.Next() {
	case "up":
		req.Flags = interface_types.IF_STATUS_API_FLAG_ADMIN_UP
	case "down":
	default:
		return cmdline.UnknownInput(rest)
	}
	if reply, _ := call[*interfaces.SwInterfaceSetFlagsReply](c, req); reply == nil || reply.Retval != 0 {
		return errors.New("super-interface must be up")
	}
	return nil
}

func (c *CLI) createBridgeDomain(in *cmdline.Input) error {
	id, err := strconv.ParseUint(in.Next(), 10, 32)
	if err != nil {
		return errors.New("bridge-domain-ID not specified")
	}
	req := &l2.BridgeDomainAddDel{
		BdID: uint32(id), IsAdd: true, Forward: true, Learn: true, Flood: true, UuFlood: true,
	}
	options := map[string]*bool{
		"learn": &req.Learn, "forward": &req.Forward, "uu-flood": &req.UuFlood,
		"flood": &req.Flood, "arp-term": &req.ArpTerm, "arp-ufwd": &req.ArpUfwd,
	}
	for len(in.Args) > 0 {
		rest := in.Args
		switch arg := in.Next(); {
		case arg == "del":
			req.IsAdd = false
		case options[arg] != nil:
			*options[arg] = in.Next() != "0"
		case arg == "mac-age":
			age, err := strconv.ParseUint(in.Next(), 10, 8)
			if err != nil {
				return errors.New("mac age must be 0 to 255")
			}
			req.MacAge = uint8(age)
		case arg == "bd-tag":
			req.BdTag = in.Next()
		default:
			return cmdline.UnknownInput(rest)
		}
	}
	reply, _ := call[*l2.BridgeDomainAddDelReply](c, req)
	return bridgeDomainResult(in, req, reply)
}

func bridgeDomainResult(in *cmdline.Input, req *l2.BridgeDomainAddDel, reply *l2.BridgeDomainAddDelReply) error {
	switch {
	case reply == nil:
		return errors.New("not available in this release")
	case reply.Retval == 0:
		if req.IsAdd {
			in.Line("bridge-domain %d", req.BdID)
		}
		return nil
	case reply.Retval == int32(api.BD_IN_USE):
		return errors.New("bridge domain in use - remove members")
	case reply.Retval == int32(api.NO_SUCH_ENTRY):
		return errors.New("bridge domain ID does not exist")
	case reply.Retval == int32(api.BD_NOT_MODIFIABLE):
		return errors.New("bridge domain 0 can not be modified")
	}
	return fmt.Errorf("bd_add_del returned %d", reply.Retval)
}

func (c *CLI) setInterfaceL2Bridge(in *cmdline.Input) error {
	d, err := c.namedInterface(in, "")
	if err != nil {
		return err
	}
	id, err := strconv.ParseUint(in.Next(), 10, 32)
	if err != nil {
		return errors.New("expected bridge domain ID `'")
	}
	req := &l2.SwInterfaceSetL2Bridge{RxSwIfIndex: d.SwIfIndex, BdID: uint32(id), Enable: true}
	for arg := in.Next(); arg != ""; arg = in.Next() {
		switch arg {
		case "bvi":
			req.PortType = l2.L2_API_PORT_TYPE_BVI
		case "uu-fwd":
			req.PortType = l2.L2_API_PORT_TYPE_UU_FWD
		default:
			shg, _ := strconv.ParseUint(arg, 10, 8)
			req.Shg = uint8(shg)
		}
	}
	reply, _ := call[*l2.SwInterfaceSetL2BridgeReply](c, req)
	if reply != nil && reply.Retval == int32(api.BD_ALREADY_HAS_BVI) {
		return errors.New("bridge-domain already has a bvi interface")
	}
	if reply == nil || reply.Retval != 0 {
		return errors.New("bridge domain ID exceed 16M limit")
	}
	return nil
}

// macAndDomain takes the first two arguments of the l2fib commands.
func (c *CLI) macAndDomain(in *cmdline.Input) (ethernet_types.MacAddress, uint32, error) {
	rest := in.Args
	mac, err := ethernet_types.ParseMacAddress(in.Next())
	if err != nil || len(rest) == 0 {
		return mac, 0, errors.New("expected mac address `'")
	}
	id, err := strconv.ParseUint(in.Next(), 10, 32)
	if err != nil {
		return mac, 0, errors.New("expected bridge domain ID `'")
	}
	if c.domainByID(uint32(id)) == nil {
		return mac, 0, fmt.Errorf("bridge domain ID %d invalid", id)
	}
	return mac, uint32(id), nil
}

func (c *CLI) l2fibAdd(in *cmdline.Input) error {
	mac, id, err := c.macAndDomain(in)
	if err != nil {
		return err
	}
	req := &l2.L2fibAddDel{Mac: mac, BdID: id, IsAdd: true}
	if len(in.Args) > 0 && in.Args[0] == "filter" {
		req.FilterMac = true
		call[*l2.L2fibAddDelReply](c, req)
		return nil
	}
	d, err := c.namedInterface(in, "")
	if err != nil {
		return err
	}
	req.SwIfIndex = d.SwIfIndex
	arg := in.Next()
	req.StaticMac, req.BviMac = arg == "static" || arg == "bvi", arg == "bvi"
	if reply, _ := call[*l2.L2fibAddDelReply](c, req); reply == nil || reply.Retval != 0 {
		//lint:ignore ST1005 the words of VPP
		return fmt.Errorf("Interface sw_if_index %d not in L2 mode", d.SwIfIndex)
	}
	return nil
}

func (c *CLI) l2fibDel(in *cmdline.Input) error {
	mac, id, err := c.macAndDomain(in)
	if err != nil {
		return err
	}
	if reply, _ := call[*l2.L2fibAddDelReply](c, &l2.L2fibAddDel{Mac: mac, BdID: id}); reply == nil || reply.Retval != 0 {
		return errors.New("mac entry not found")
	}
	return nil
}
