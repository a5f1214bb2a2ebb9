package vppsim_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/vppsim"
	"go.fd.io/govpp/adapter/socketclient"
	"go.fd.io/govpp/api"
	interfaces "go.fd.io/govpp/binapi/interface"
	"go.fd.io/govpp/binapi/interface_types"
	"go.fd.io/govpp/binapi/vpe"
	"go.fd.io/govpp/core"
)

// TestGovppClient drives the simulator with an independent client.
func TestGovppClient(t *testing.T) {
	vpp := vppsim.New(vppsim.Options{})
	socket := filepath.Join(t.TempDir(), "api.sock")
	if err := vpp.ListenUnix(socket); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := vpp.Close(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := core.Connect(socketclient.NewVppClient(socket))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Disconnect()
	ch, err := conn.NewAPIChannel()
	if err != nil {
		t.Fatal(err)
	}
	defer ch.Close()
	ch.SetReplyTimeout(10 * time.Second)

	version := &vpe.ShowVersionReply{}
	if err := ch.SendRequest(&vpe.ShowVersion{}).ReceiveReply(version); err != nil {
		t.Fatal(err)
	}
	if version.Version != vppsim.DefaultVersion {
		t.Errorf("version %q", version.Version)
	}
	loop := &interfaces.CreateLoopbackReply{}
	if err := ch.SendRequest(&interfaces.CreateLoopback{}).ReceiveReply(loop); err != nil {
		t.Fatal(err)
	}
	err = ch.SendRequest(&interfaces.DeleteLoopback{SwIfIndex: 77}).ReceiveReply(&interfaces.DeleteLoopbackReply{})
	if err != api.INVALID_SW_IF_INDEX {
		t.Errorf("delete of a missing loopback: %v", err)
	}
	var names []string
	dump := ch.SendMultiRequest(&interfaces.SwInterfaceDump{SwIfIndex: interface_types.InterfaceIndex(^uint32(0))})
	for {
		details := &interfaces.SwInterfaceDetails{}
		stop, err := dump.ReceiveReply(details)
		if err != nil {
			t.Fatal(err)
		}
		if stop {
			break
		}
		names = append(names, details.InterfaceName)
	}
	if len(names) != 2 || names[0] != "local0" || names[1] != "loop0" {
		t.Errorf("interfaces %q", names)
	}
}
