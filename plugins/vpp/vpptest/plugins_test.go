package vpptest_test

import (
	"strings"
	"testing"

	kvs "github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/plugins/vpp/vpptest"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/vpp/interfaces"
)

// A VPP without a plugin: the interface fails for good and says which; the rest
// works, and nothing of the plugin is asked for.
func TestMissingPlugins(t *testing.T) {
	t.Parallel()
	for plugin, test := range map[string]struct {
		messages string
		i        *interfaces.Interface
	}{
		"memif":     {"memif_create memif_create_v2 memif_dump memif_delete memif_socket_filename_dump", memif("x", 1, "")},
		"vxlan":     {"vxlan_add_del_tunnel vxlan_add_del_tunnel_v3 vxlan_tunnel_dump vxlan_tunnel_v2_dump", vxlan("x", "192.0.2.1", "192.0.2.2", 1)},
		"gre":       {"gre_tunnel_add_del gre_tunnel_dump", gre("x", "192.0.2.1", "192.0.2.2", interfaces.GreLink_L3)},
		"gtpu":      {"gtpu_add_del_tunnel gtpu_add_del_tunnel_v2 gtpu_tunnel_dump gtpu_tunnel_v2_dump", gtpu("x", "192.0.2.1", "192.0.2.2", 1)},
		"wireguard": {"wireguard_interface_create wireguard_interface_dump", wireguard("x")},
		"vmxnet3":   {"vmxnet3_create sw_vmxnet3_interface_dump", vmxnet3("vmxnet3-0/b/0/0")},
		"rdma":      {"rdma_create_v3 rdma_create_v4", rdma("x", "mlx0")},
	} {
		t.Run(plugin, func(t *testing.T) {
			t.Parallel()
			target := vpptest.Simulator(t, simOptions())
			forget(t, target, strings.Fields(test.messages)...)
			b := vpptest.Start(t, target)
			b.SetHostInterface("mlx0", true)
			err := b.Commit(of(test.i, loop("lo")), kvs.WithRetryDefault())
			partly, wholly := "(plugin "+plugin+" of VPP): not supported", ": VPP has not loaded the plugin "+plugin+" ("
			if err == nil || !strings.Contains(err.Error(), partly) && !strings.Contains(err.Error(), wholly) {
				t.Errorf("error %v, expected %q or %q", err, partly, wholly)
			}
			b.Want(states{ifKey(test.i.Name): impossible, ifKey("lo"): configured}) // not RETRYING
			b.Must(deleted(of(test.i)))
			b.InSync()
		})
	}
}
