package allmodels

// nameTemplates are the templates of the names of items, by model. Singletons have none.
var nameTemplates = map[string]string{
	"linux.interfaces.interface":  `{{.Name}}`,
	"linux.iptables.rulechain":    `{{.Name}}`,
	"linux.l3.arp":                `{{.Interface}}/{{.IpAddress}}`,
	"linux.l3.route":              `{{if .Table}}table/{{.Table}}/{{end}}` + linuxRoute,
	"linux.l3.nexthop":            `{{.Name}}`,
	"linux.l3.rule":               `{{.Name}}`,
	"linux.nftables.table":        `{{.Name}}`,
	"linux.punt.proxy":            `{{.Name}}`,
	"netalloc.ip":                 `network/{{.NetworkName}}/interface/{{.InterfaceName}}`,
	"vpp.abfs.abf":                `{{.Index}}`,
	"vpp.acls.acl":                `{{.Name}}`,
	"vpp.arp":                     `{{.Interface}}/{{.IpAddress}}`,
	"vpp.bfd.auth-key":            `{{.Id}}`,
	"vpp.bfd.session":             `{{.Interface}}/peer/{{.PeerAddress}}`,
	"vpp.classify.binding":        `{{.Interface}}/hook/{{.Hook}}/packets/{{.Packets}}`,
	"vpp.classify.session":        `table/{{.Table}}/match/{{.Match}}`,
	"vpp.classify.table":          `{{.Name}}`,
	"vpp.cnat.interface":          `{{.Name}}`,
	"vpp.cnat.translation":        `protocol/{{.Protocol}}/vip/{{.Vip}}/port/{{.Port}}`,
	"vpp.dhcp-proxy":              `{{ protoip .SourceIpAddress}}/rx-vrf/{{.RxVrfId}}`,
	"vpp.exception":               `reason/{{.Reason}}`,
	"vpp.ikev2.profile":           `{{.Name}}`,
	"vpp.interfaces":              `{{.Name}}`,
	"vpp.ip6nd.ra":                `{{.Interface}}`,
	"vpp.ipfix.flowprobe-feature": `{{.Interface}}`,
	"vpp.ipredirect":              `l3/{{.L3Protocol}}/tx/{{.TxInterface}}`,
	"vpp.ipsec.sa":                `{{.Index}}`,
	"vpp.ipsec.sp": `spd/{{.SpdIndex}}/sa/{{.SaIndex}}/{{if .IsOutbound}}outbound/{{else}}inbound/{{end}}` +
		`local-addresses/{{.LocalAddrStart}}-{{.LocalAddrStop}}/remote-addresses/{{.RemoteAddrStart}}-{{.RemoteAddrStop}}`,
	"vpp.ipsec.spd":           `{{.Index}}`,
	"vpp.ipsec.tun-protect":   `{{.Interface}}{{if .NextHopAddr}}/nh/{{.NextHopAddr}}{{end}}`,
	"vpp.l2.bridge-domain":    `{{.Name}}`,
	"vpp.l2.fib":              `{{.BridgeDomain}}/mac/{{.PhysAddress}}`,
	"vpp.l2.xconnect":         `{{.ReceiveInterface}}`,
	"vpp.l3xconnect":          `{{.Interface}}/protocol/{{.Protocol}}`,
	"vpp.linuxcp.pair":        `{{.Interface}}`,
	"vpp.lldp.interface":      `{{.Interface}}`,
	"vpp.mpls.interface":      `{{.Name}}`,
	"vpp.mpls.route":          `table/{{.TableId}}/label/{{.Label}}{{if .Stacked}}/stacked{{end}}`,
	"vpp.mpls.table":          `{{.Id}}`,
	"vpp.mss.clamp":           `{{.Interface}}`,
	"vpp.nat.dnat44":          `{{.Label}}`,
	"vpp.nat.nat44-interface": `{{.Name}}`,
	"vpp.nat.nat44-pool": `{{if .Name}}{{.Name}}{{else}}vrf/{{.VrfId}}/address/{{.FirstIp}}` +
		`{{if and .LastIp (ne .FirstIp .LastIp)}}-{{.LastIp}}{{end}}{{end}}`,
	"vpp.nat.nat44-vrf":       `vrfid/{{.SrcVrfId}}`,
	"vpp.nat.nat44-vrf-route": `vrfid/{{.SrcVrfId}}/destvrfid/{{.DestVrfId}}`,
	"vpp.nat64.interface":     `{{.Name}}`,
	"vpp.nat64.pool": `{{if .Name}}{{.Name}}{{else}}vrf/{{.VrfId}}/address/{{.FirstIp}}` +
		`{{if and .LastIp (ne .FirstIp .LastIp)}}-{{.LastIp}}{{end}}{{end}}`,
	"vpp.nat64.prefix":         `vrf/{{.VrfId}}`,
	"vpp.nat64.static-bib":     `vrf/{{.VrfId}}/protocol/{{.Protocol}}/inside/{{.InsideAddr}}/{{.InsidePort}}`,
	"vpp.nat66.interface":      `{{.Name}}`,
	"vpp.nat66.static-mapping": `vrf/{{.VrfId}}/local/{{.LocalAddr}}`,
	"vpp.pmtu.path-mtu":        `vrf/{{.Vrf}}/address/{{.Address}}`,
	"vpp.policer.interface":    `{{.Interface}}/direction/{{.Direction}}`,
	"vpp.policer.policer":      `{{.Name}}`,
	"vpp.qos.map":              `{{.Id}}`,
	"vpp.qos.mark":             `{{.Interface}}/output/{{.Output}}`,
	"vpp.qos.record":           `{{.Interface}}/source/{{.Source}}`,
	"vpp.qos.store":            `{{.Interface}}`,
	"vpp.reassembly.interface": `{{.Interface}}`,
	"vpp.reassembly.settings":  `{{.Protocol}}`,
	"vpp.route": `{{if .OutgoingInterface}}{{printf "if/%s/" .OutgoingInterface}}{{end}}vrf/{{.VrfId}}/` +
		`{{with ipnet .DstNetwork}}{{printf "dst/%s/%d/" .IP .MaskSize}}{{else}}{{printf "dst/%s/" .DstNetwork}}{{end}}` +
		`{{if .NextHopAddr}}gw/{{.NextHopAddr}}{{end}}`,
	"vpp.span":           `{{.InterfaceFrom}}/to/{{.InterfaceTo}}`,
	"vpp.srv6.localsid":  `{{.Sid}}`,
	"vpp.srv6.policy":    `{{.Bsid}}`,
	"vpp.srv6.steering":  `{{.Name}}`,
	"vpp.stn.rule":       `{{.Interface}}/ip/{{.IpAddress}}`,
	"vpp.teib":           `{{.Interface}}/peer/{{.PeerAddr}}`,
	"vpp.tohost":         `l3/{{.L3Protocol}}/l4/{{.L4Protocol}}/port/{{.Port}}`,
	"vpp.urpf.interface": `{{.Interface}}/protocol/{{.Protocol}}/direction/{{.Direction}}`,
	"vpp.vrf-table":      `id/{{.Id}}/protocol/{{.Protocol}}`,
	"vpp.vrrp":           `{{.Interface}}/vrid/{{.VrId}}`,
	"vpp.wg.peer":        `{{.WgIfName}}/endpoint/{{.Endpoint}}/{{.Port}}`,
}

// linuxRoute is the template of a route in the main table.
const linuxRoute = `{{with ipnet .DstNetwork}}{{printf "%s/%d" .IP .MaskSize}}{{else}}{{.DstNetwork}}{{end}}` +
	`/{{.OutgoingInterface}}`

// formerTemplates are the templates of models whose own ones name fields that the
// predecessor lacks, without these fields; empty if nothing is left.
var formerTemplates = map[string]string{"linux.l3.route": linuxRoute, "linux.punt.proxy": ""}

// NameTemplate returns the text/template that computes the name of an item from
// its message, for clients that know the models only by their description. Its
// functions ipnet and protoip are those of the generic API. It is empty for
// singletons and unknown models. A test shows that the templates and the models
// agree.
func NameTemplate(modelName string) string { return nameTemplates[modelName] }
