package allmodels

// NameTemplate returns the text/template that computes the name of an item from
// its message, for clients that know the models only by their description. Its
// functions ipnet and protoip are those of the generic API. It is empty for
// singletons and unknown models. A test shows that the templates and the models
// agree.
// models agree.
func NameTemplate(modelName string) string {
	switch modelName {
	case "linux.interfaces.interface", "linux.iptables.rulechain", "linux.l3.rule", "vpp.acls.acl", "vpp.interfaces",
		"vpp.l2.bridge-domain", "vpp.mpls.interface", "vpp.nat.nat44-interface", "vpp.nat64.interface", "vpp.nat66.interface",
		"vpp.srv6.steering":
		return `{{.Name}}`
	case "linux.l3.arp", "vpp.arp":
		return `{{.Interface}}/{{.IpAddress}}`
	case "linux.l3.route":
		return `{{if .Table}}table/{{.Table}}/{{end}}` +
			`{{with ipnet .DstNetwork}}{{printf "%s/%d" .IP .MaskSize}}{{else}}{{.DstNetwork}}{{end}}` +
			`/{{.OutgoingInterface}}`
	case "netalloc.ip":
		return `network/{{.NetworkName}}/interface/{{.InterfaceName}}`
	case "vpp.abfs.abf", "vpp.ipsec.sa", "vpp.ipsec.spd":
		return `{{.Index}}`
	case "vpp.l2.fib":
		return `{{.BridgeDomain}}/mac/{{.PhysAddress}}`
	case "vpp.l2.xconnect":
		return `{{.ReceiveInterface}}`
	case "vpp.span":
		return `{{.InterfaceFrom}}/to/{{.InterfaceTo}}`
	default:
		return layer3Template(modelName)
	}
}

// layer3Template has the templates of VPP's layer 3 models.
func layer3Template(modelName string) string {
	switch modelName {
	case "vpp.dhcp-proxy":
		return `{{ protoip .SourceIpAddress}}/rx-vrf/{{.RxVrfId}}`
	case "vpp.l3xconnect":
		return `{{.Interface}}/protocol/{{.Protocol}}`
	case "vpp.route":
		return `{{if .OutgoingInterface}}{{printf "if/%s/" .OutgoingInterface}}{{end}}vrf/{{.VrfId}}/` +
			`{{with ipnet .DstNetwork}}{{printf "dst/%s/%d/" .IP .MaskSize}}{{else}}{{printf "dst/%s/" .DstNetwork}}{{end}}` +
			`{{if .NextHopAddr}}gw/{{.NextHopAddr}}{{end}}`
	case "vpp.teib":
		return `{{.Interface}}/peer/{{.PeerAddr}}`
	case "vpp.vrf-table":
		return `id/{{.Id}}/protocol/{{.Protocol}}`
	case "vpp.vrrp":
		return `{{.Interface}}/vrid/{{.VrId}}`
	default:
		return featureTemplate(modelName)
	}
}

// featureTemplate has the templates of VPP's other features.
func featureTemplate(modelName string) string {
	switch modelName {
	case "vpp.exception":
		return `reason/{{.Reason}}`
	case "vpp.ipfix.flowprobe-feature":
		return `{{.Interface}}`
	case "vpp.ipredirect":
		return `l3/{{.L3Protocol}}/tx/{{.TxInterface}}`
	case "vpp.ipsec.sp":
		return `spd/{{.SpdIndex}}/sa/{{.SaIndex}}/{{if .IsOutbound}}outbound/{{else}}inbound/{{end}}` +
			`local-addresses/{{.LocalAddrStart}}-{{.LocalAddrStop}}/remote-addresses/{{.RemoteAddrStart}}-{{.RemoteAddrStop}}`
	case "vpp.ipsec.tun-protect":
		return `{{.Interface}}{{if .NextHopAddr}}/nh/{{.NextHopAddr}}{{end}}`
	case "vpp.nat.dnat44":
		return `{{.Label}}`
	case "vpp.nat.nat44-pool":
		return `{{if .Name}}{{.Name}}{{else}}vrf/{{.VrfId}}/address/{{.FirstIp}}` +
			`{{if and .LastIp (ne .FirstIp .LastIp)}}-{{.LastIp}}{{end}}{{end}}`
	case "vpp.nat.nat44-vrf":
		return `vrfid/{{.SrcVrfId}}`
	case "vpp.nat.nat44-vrf-route":
		return `vrfid/{{.SrcVrfId}}/destvrfid/{{.DestVrfId}}`
	case "vpp.srv6.localsid":
		return `{{.Sid}}`
	case "vpp.srv6.policy":
		return `{{.Bsid}}`
	case "vpp.stn.rule":
		return `{{.Interface}}/ip/{{.IpAddress}}`
	case "vpp.tohost":
		return `l3/{{.L3Protocol}}/l4/{{.L4Protocol}}/port/{{.Port}}`
	case "vpp.wg.peer":
		return `{{.WgIfName}}/endpoint/{{.Endpoint}}/{{.Port}}`
	default:
		return newTemplate(modelName)
	}
}

// newTemplate has the templates of models that the predecessor does not have.
func newTemplate(modelName string) string {
	switch modelName {
	case "vpp.bfd.auth-key":
		return `{{.Id}}`
	case "vpp.bfd.session":
		return `{{.Interface}}/peer/{{.PeerAddress}}`
	case "vpp.mpls.route":
		return `table/{{.TableId}}/label/{{.Label}}{{if .Stacked}}/stacked{{end}}`
	case "vpp.mpls.table":
		return `{{.Id}}`
	case "vpp.linuxcp.pair":
		return `{{.Interface}}`
	case "vpp.nat64.pool":
		return `{{if .Name}}{{.Name}}{{else}}vrf/{{.VrfId}}/address/{{.FirstIp}}` +
			`{{if and .LastIp (ne .FirstIp .LastIp)}}-{{.LastIp}}{{end}}{{end}}`
	case "vpp.nat64.prefix":
		return `vrf/{{.VrfId}}`
	case "vpp.nat64.static-bib":
		return `vrf/{{.VrfId}}/protocol/{{.Protocol}}/inside/{{.InsideAddr}}/{{.InsidePort}}`
	case "vpp.nat66.static-mapping":
		return `vrf/{{.VrfId}}/local/{{.LocalAddr}}`
	default:
		return packetPathTemplate(modelName)
	}
}

// packetPathTemplate has the templates of what treats packets on their way.
func packetPathTemplate(modelName string) string {
	switch modelName {
	case "vpp.mss.clamp", "vpp.qos.store", "vpp.reassembly.interface":
		return `{{.Interface}}`
	case "vpp.pmtu.path-mtu":
		return `vrf/{{.Vrf}}/address/{{.Address}}`
	case "vpp.policer.interface":
		return `{{.Interface}}/direction/{{.Direction}}`
	case "vpp.policer.policer":
		return `{{.Name}}`
	case "vpp.qos.map":
		return `{{.Id}}`
	case "vpp.qos.mark":
		return `{{.Interface}}/output/{{.Output}}`
	case "vpp.qos.record":
		return `{{.Interface}}/source/{{.Source}}`
	case "vpp.reassembly.settings":
		return `{{.Protocol}}`
	case "vpp.urpf.interface":
		return `{{.Interface}}/protocol/{{.Protocol}}/direction/{{.Direction}}`
	default:
		return ""
	}
}
