package ifplugin_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/plugins/linux/ifplugin/descriptor"
	interfaces "github.com/tenuto-dev/tenuto/proto/ligato/linux/interfaces"
)

func parse(t *testing.T, json string) *interfaces.Interface {
	t.Helper()
	v := &interfaces.Interface{}
	if err := protojson.Unmarshal([]byte(json), v); err != nil {
		t.Fatalf("%s: %v", json, err)
	}
	return v
}

func TestValidate(t *testing.T) {
	t.Parallel()
	d := descriptor.NewInterface(descriptor.Deps{Label: "test", Log: logging.Nop()})
	for _, c := range []struct{ json, want string }{ // want: part of the error; empty: valid
		{`{"name":"a","type":"VETH","veth":{"peerIfName":"b"}}`, ""},
		{`{"name":"a/b","type":"VETH","hostIfName":"ab","veth":{"peerIfName":"b/c"}}`, ""},
		{`{"name":"a","type":"EXISTING","ipAddresses":["10.0.0.1/24","fd00::1/64"]}`, ""},
		{`{"name":"a","type":"LOOPBACK","namespace":{"type":"NSID","reference":"x"}}`, ""},
		{`{"name":"a-very-long-logical-name","type":"LOOPBACK"}`, ""},
		{`{"name":"a","type":"DUMMY"}`, ""},
		{`{"name":"a","type":"VRF_DEVICE","vrfDev":{"routingTable":5}}`, ""},
		{`{"name":"a"}`, "type: UNDEFINED"},
		{`{"type":"DUMMY"}`, "name: empty, expected a name"},
		{`{"name":"state/x","type":"DUMMY","hostIfName":"x"}`, "reserved element"},
		{`{"name":"a-very-long-logical-name","type":"DUMMY"}`, "expected at most 15"},
		{`{"name":"a b","type":"DUMMY"}`, "no slashes, colons or spaces"},
		{`{"name":"a","type":"VETH"}`, "veth: missing"},
		{`{"name":"a","type":"VETH","veth":{}}`, "veth.peer_if_name"},
		{`{"name":"a","type":"VETH","veth":{"peerIfName":"a"}}`, "is the interface itself"},
		{`{"name":"a","type":"VETH","vrfDev":{}}`, "veth: missing"},
		{`{"name":"a","type":"DUMMY","veth":{"peerIfName":"b"}}`, "not allowed for type DUMMY"},
		{`{"name":"a","type":"EXISTING","namespace":{"type":"NSID","reference":"x"}}`, "namespace: not allowed for type EXISTING"},
		{`{"name":"a","type":"DUMMY","namespace":{"reference":"x"}}`, "has no type"},
		{`{"name":"a","type":"DUMMY","namespace":{"type":"NSID"}}`, "reference is empty"},
		{`{"name":"a","type":"DUMMY","namespace":{"type":"NSID","reference":"../x"}}`, "without slashes"},
		{`{"name":"a","type":"DUMMY","namespace":{"type":"PID","reference":"x"}}`, "number of a process"},
		{`{"name":"a","type":"DUMMY","namespace":{"type":"FD","reference":"x"}}`, "absolute path"},
		{`{"name":"a","type":"DUMMY","ipAddresses":["10.0.0.1/33"]}`, "ip_addresses[0]"},
		{`{"name":"a","type":"DUMMY","ipAddresses":["fd00::1/64","fd00:0::1/64"]}`, "ip_addresses[1]"},
		{`{"name":"a","type":"DUMMY","ipAddresses":["alloc:net"]}`, "allocates no addresses"},
		{`{"name":"a","type":"DUMMY","physAddress":"01:00:5e:00:00:01"}`, "phys_address"},
		{`{"name":"a","type":"DUMMY","physAddress":"x"}`, "phys_address"},
		{`{"name":"a","type":"VRF_DEVICE"}`, "vrf_dev: missing"},
		{`{"name":"a","type":"VRF_DEVICE","vrfDev":{},"vrfMasterInterface":"b"}`, "vrf_master_interface"},
		{`{"name":"a","type":"TAP_TO_VPP","tap":{"vppTapIfName":"t"}}`, "needs the plugin for VPP interfaces"},
		{`{"name":"a","type":"TAP_TO_VPP"}`, "tap: missing"},
		{`{"name":"a","type":"BRIDGE"}`, ""},
		{`{"name":"a","type":"BOND"}`, ""},
		{`{"name":"a","type":"TAP"}`, ""},
		{`{"name":"a","type":"VXLAN","vxlan":{"vni":5},"masterInterface":"b"}`, ""},
		{`{"name":"a","type":"BRIDGE","vlan":{"vlanId":1,"parentInterface":"b"}}`, "vlan: not allowed for type BRIDGE"},
		{`{"name":"a","type":"BRIDGE","masterInterface":"b"}`, "master_interface: not allowed for type BRIDGE"},
		{`{"name":"a","type":"LOOPBACK","masterInterface":"b"}`, "master_interface: not allowed for type LOOPBACK"},
		{`{"name":"a","type":"TUN","masterInterface":"b"}`, "master_interface: not allowed for type TUN"},
		{`{"name":"a","type":"DUMMY","masterInterface":"a"}`, "master_interface: \"a\" is the interface itself"},
		{`{"name":"a","type":"DUMMY","masterInterface":"state/x"}`, "master_interface: name"},
		{`{"name":"a","type":"DUMMY","masterInterface":"b","vrfMasterInterface":"c"}`, "master_interface: not allowed together"},
		{`{"name":"a","type":"VLAN"}`, "vlan: missing"},
		{`{"name":"a","type":"VLAN","vlan":{"vlanId":5}}`, "vlan.parent_interface: empty"},
		{`{"name":"a","type":"VLAN","vlan":{"vlanId":5,"parentInterface":"a"}}`, "vlan.parent_interface: \"a\" is the interface itself"},
		{`{"name":"a","type":"VLAN","vlan":{"parentInterface":"b"}}`, "vlan.vlan_id: 0"},
		{`{"name":"a","type":"VLAN","vlan":{"vlanId":4095,"parentInterface":"b"}}`, "vlan.vlan_id: 4095"},
		{`{"name":"a","type":"VLAN","vlan":{"vlanId":5,"parentInterface":"b","protocol":7}}`, "vlan.protocol: 7"},
		{`{"name":"a","type":"VXLAN","vxlan":{"vni":16777216}}`, "vxlan.vni"},
		{`{"name":"a","type":"VXLAN","vxlan":{"remote":"x"}}`, "vxlan.remote"},
		{`{"name":"a","type":"VXLAN","vxlan":{"remote":"239.1.1.1"}}`, "vxlan.parent_interface: empty"},
		{`{"name":"a","type":"VXLAN","vxlan":{"remote":"10.0.0.1","local":"fd00::1"}}`, "vxlan.local"},
		{`{"name":"a","type":"VXLAN","vxlan":{"port":70000}}`, "vxlan.port"},
		{`{"name":"a","type":"VXLAN","vxlan":{"ttl":256}}`, "vxlan.ttl"},
		{`{"name":"a","type":"BOND","bond":{"mode":9}}`, "bond.mode"},
		{`{"name":"a","type":"BOND","bond":{"lacpFast":true}}`, "bond.lacp_fast"},
		{`{"name":"a","type":"MACVLAN","macvlan":{}}`, "macvlan.parent_interface"},
		{`{"name":"a","type":"MACVLAN","physAddress":"02:00:00:00:00:01","macvlan":{"parentInterface":"b","mode":"PASSTHRU"}}`, "phys_address"},
		{`{"name":"a","type":"IPVLAN","physAddress":"02:00:00:00:00:01","ipvlan":{"parentInterface":"b"}}`, "phys_address"},
		{`{"name":"a","type":"GRE","tunnel":{}}`, "tunnel.local"},
		{`{"name":"a","type":"GRE","tunnel":{"local":"fd00::1"}}`, "tunnel.local"},
		{`{"name":"a","type":"GRE","tunnel":{"local":"10.0.0.1","remote":"224.0.0.1"}}`, "tunnel.remote"},
		{`{"name":"a","type":"IPIP","tunnel":{"local":"10.0.0.1","key":5}}`, "tunnel.key"},
		{`{"name":"a","type":"SIT","physAddress":"02:00:00:00:00:01","tunnel":{"local":"10.0.0.1"}}`, "phys_address"},
		{`{"name":"a","type":"WIREGUARD"}`, "wireguard: missing"},
		{`{"name":"a","type":"WIREGUARD","wireguard":{}}`, "wireguard.private_key: empty"},
		{`{"name":"a","type":"WIREGUARD","wireguard":{"privateKey":"x"}}`, "wireguard.private_key: expected 44 characters"},
		{`{"name":"a","type":"WIREGUARD","wireguard":{"privateKey":"` + key(1) + `"}}`, ""},
		{`{"name":"a","type":"WIREGUARD","wireguard":{"privateKey":"` + key(1) + `","listenPort":70000}}`, "wireguard.listen_port"},
		{`{"name":"a","type":"WIREGUARD","masterInterface":"b","wireguard":{"privateKey":"` + key(1) + `"}}`, "master_interface: not allowed"},
		{`{"name":"a","type":"WIREGUARD","physAddress":"02:00:00:00:00:01","wireguard":{"privateKey":"` + key(1) + `"}}`, "phys_address"},
		{peers(`{}`), "wireguard.peers[0].public_key: empty"},
		{peers(`{"publicKey":"` + key(2) + `"},{"publicKey":"` + key(2) + `"}`), "wireguard.peers[1].public_key"},
		{peers(`{"publicKey":"` + key(2) + `","presharedKey":"y"}`), "wireguard.peers[0].preshared_key: expected"},
		{peers(`{"publicKey":"` + key(2) + `","endpoint":"host:7000"}`), "wireguard.peers[0].endpoint"},
		{peers(`{"publicKey":"` + key(2) + `","endpoint":"10.0.0.1"}`), "wireguard.peers[0].endpoint"},
		{peers(`{"publicKey":"` + key(2) + `","persistentKeepalive":65536}`), "wireguard.peers[0].persistent_keepalive"},
		{peers(`{"publicKey":"` + key(2) + `","allowedIps":["10.0.0.1/24"]}`), "wireguard.peers[0].allowed_ips[0]"},
		{peers(`{"publicKey":"` + key(2) + `","allowedIps":["::/0"]},{"publicKey":"` + key(3) + `","allowedIps":["::/0"]}`), "wireguard.peers[1].allowed_ips[0]"},
		{`{"name":"` + strings.Repeat("x", 300) + `","type":"DUMMY","hostIfName":"x"}`, "alias of the link"},
	} {
		err := d.Validate("", parse(t, c.json))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.json, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error is %v, expected %q in it", c.json, err, c.want)
		}
	}
}

// peers is a WireGuard interface with peers, as JSON.
func peers(json string) string {
	return `{"name":"a","type":"WIREGUARD","wireguard":{"privateKey":"` + key(1) + `","peers":[` + json + `]}}`
}

func TestEquivalent(t *testing.T) {
	t.Parallel()
	d := descriptor.NewInterface(descriptor.Deps{Label: "test", Log: logging.Nop()})
	for _, c := range []struct {
		have, want   string
		equal, again bool
	}{
		{`"type":"DUMMY"`, `"type":"DUMMY","hostIfName":"a","mtu":1500,"ipAddresses":["10.0.0.1/8"]`, true, false},
		{`"type":"DUMMY","mtu":1400`, `"type":"DUMMY"`, false, false},
		{`"type":"VRF_DEVICE","mtu":65575,"vrfDev":{}`, `"type":"VRF_DEVICE","vrfDev":{}`, true, false},
		{`"type":"VRF_DEVICE","vrfDev":{}`, `"type":"VRF_DEVICE","vrfDev":{"routingTable":1}`, false, true},
		{`"type":"LOOPBACK","mtu":65536,"hostIfName":"lo"`, `"type":"LOOPBACK"`, true, false},
		{`"type":"DUMMY","physAddress":"02:00:00:00:00:0a"`, `"type":"DUMMY"`, true, false},
		{`"type":"DUMMY","physAddress":"02:00:00:00:00:0a"`, `"type":"DUMMY","physAddress":"02:00:00:00:00:0A"`, true, false},
		{`"type":"DUMMY","mtu":1400`, `"type":"DUMMY","mtu":1300,"linkOnly":true`, false, true},
		{`"type":"DUMMY","linkOnly":true,"mtu":1400`, `"type":"DUMMY","mtu":1300,"linkOnly":true`, true, false},
		{`"type":"EXISTING","mtu":9000`, `"type":"EXISTING","mtu":1500`, false, false},
		{`"type":"EXISTING","mtu":9000`, `"type":"EXISTING"`, true, false},
		{`"type":"EXISTING","hostIfName":"x"`, `"type":"EXISTING","hostIfName":"y"`, false, true},
		{`"type":"DUMMY"`, `"type":"DUMMY","enabled":true`, false, false},
		{`"type":"DUMMY"`, `"type":"DUMMY","hostIfName":"b"`, false, false},
		{`"type":"DUMMY"`, `"type":"DUMMY","namespace":{"type":"NSID","reference":"b"}`, false, true},
		{`"type":"DUMMY"`, `"type":"LOOPBACK"`, false, true},
		{`"type":"VETH","veth":{"peerIfName":"b"}`, `"type":"VETH","veth":{"peerIfName":"c"}`, false, true},
	} {
		have, want := parse(t, `{"name":"a",`+c.have+`}`), parse(t, `{"name":"a",`+c.want+`}`)
		if got := d.ValueComparator("", have, want); got != c.equal {
			t.Errorf("%s -> %s: equivalent %t, expected %t", c.have, c.want, got, c.equal)
		}
		if got := d.UpdateWithRecreate("", have, want, nil); got != c.again {
			t.Errorf("%s -> %s: re-created %t, expected %t", c.have, c.want, got, c.again)
		}
	}
}
