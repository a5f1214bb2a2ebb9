package binding

// Quirk is a kind of behaviour that name and CRC of a message do not show.
type Quirk uint8

// The kinds of quirks.
const (
	// WrongReplyID: VPP answers with the ID of another message, named by
	// Fact.Detail; the layout is the same as in the expected one.
	WrongReplyID Quirk = iota + 1
	// OwnReplyID: VPP answers with the ID of the request.
	OwnReplyID
	// DumpDeclaredAsCall: the request is declared to have one reply, but VPP
	// answers like a dump, without a terminator.
	DumpDeclaredAsCall
	// UnswappedFields: the fields named by Fact.Detail are in host byte order.
	UnswappedFields
	// EmptyAnswer: VPP accepts the dump and never sends a record.
	EmptyAnswer
	// EnumValue: the enum value named by Fact.Detail is understood; older
	// releases have the message with the same CRC without it.
	EnumValue
	// StringValue: a string constant is Fact.Detail in these releases.
	StringValue
	// TableIndex: the field named by Fact.Detail is not the ID of a table but its
	// index inside of VPP, as the command line shows it.
	TableIndex
	// UnsetFields: VPP leaves the fields named by Fact.Detail 0.
	UnsetFields
	// NotMPSafe: VPP stops its workers for each of these requests, though
	// newer releases do not.
	NotMPSafe
)

// Fact is one row of the quirks table.
type Fact struct {
	// Message is the name of the message, or of the type for EnumValue.
	Message string
	// Since and Until bound the releases, both included; "" leaves it open.
	Since, Until string
	// Quirk is the kind, Detail its parameter.
	Quirk  Quirk
	Detail string
	// Source is the file of VPP that shows it, with the function or the statement
	// behind a colon. Without one it is the handler of the message, or the enum. The
	// path is the one in the newest release that has the quirk.
	Source string
}

// Facts returns the table of all known quirks.
func Facts() []Fact {
	return []Fact{
		{"ipsec_spd_entry_add_del_v2", "22.10", "22.10", WrongReplyID, "ipsec_spd_entry_add_del_reply", "src/vnet/ipsec/ipsec_api.c"},
		{"sr_policy_add_v2", "23.06", "24.02", WrongReplyID, "sr_policy_add_reply", "src/vnet/srv6/sr_api.c"},
		{"sr_policy_mod_v2", "23.06", "25.02", WrongReplyID, "sr_policy_mod_reply", "src/vnet/srv6/sr_api.c"},
		{"policer_input_v2", "23.06", "", WrongReplyID, "policer_input_reply", "src/plugins/policer/policer_api.c"},
		{"policer_output_v2", "23.06", "", WrongReplyID, "policer_output_reply", "src/plugins/policer/policer_api.c"},
		{"lcp_itf_pair_get_v2", "24.06", "", WrongReplyID, "lcp_itf_pair_get_reply", "src/plugins/linux-cp/lcp_api.c"},
		{"acl_stats_intf_counters_enable", "", "", WrongReplyID, "acl_del_reply", "src/plugins/acl/acl.c"},
		{"det44_close_session_in", "", "", WrongReplyID, "det44_close_session_out_reply", "src/plugins/nat/det44/det44_api.c"},
		{"ipfix_classify_table_add_del", "", "", WrongReplyID, "set_ipfix_classify_stream_reply", "src/vnet/ipfix-export/flow_api.c"},
		{"nat44_ed_vrf_tables_v2_dump", "23.06", "", WrongReplyID, "nat44_ed_vrf_tables_details", "src/plugins/nat/nat44-ed/nat44_ed_api.c: nat44_ed_vrf_tables_send_details_v2"},
		{"sw_vmxnet3_interface_dump", "", "", WrongReplyID, "vmxnet3_details", "src/plugins/vmxnet3/vmxnet3_api.c: send_vmxnet3_details"},

		{"nat44_ed_add_del_vrf_table", "", "23.02", OwnReplyID, "", "src/plugins/nat/nat44-ed/nat44_ed_api.c"},
		{"nat44_ed_add_del_vrf_route", "", "23.02", OwnReplyID, "", "src/plugins/nat/nat44-ed/nat44_ed_api.c"},
		{"ip_local_reass_get", "", "24.10", OwnReplyID, "", "src/vnet/ip/ip_api.c"},

		{"proxy_arp_details", "", "25.06", TableIndex, "proxy.table_id", "src/vnet/arp/arp_api.c: send_proxy_arp_details"},

		{"gre_tunnel_dump", "25.10", "26.02", DumpDeclaredAsCall, "", "src/plugins/gre/gre.api: service; src/plugins/gre/gre_api.c"},
		{"gre_tunnel_dump_v2", "25.10", "", DumpDeclaredAsCall, "", "src/plugins/gre/gre.api: service; src/plugins/gre/gre_api.c"},
		{"ipsec_backend_dump", "26.06", "", EmptyAnswer, "", "src/vnet/ipsec/ipsec_api.c"},

		{"sr_localsids_details", "26.06", "", UnsetFields, "vlan_index", "src/vnet/srv6/sr_api.c: send_sr_localsid_details"},

		{"rdma_create_v3", "", "", UnswappedFields, "mode,rss4,rss6", "src/plugins/rdma/rdma.api: the comment on rdma_create_v3"},
		{"nat44_ed_vrf_tables_details", "", "", UnswappedFields, "vrf_ids", "src/plugins/nat/nat44-ed/nat44_ed_api.c: nat44_ed_vrf_tables_send_details"},

		{"ipsec_crypto_alg", "23.10", "", EnumValue, "AES_NULL_GMAC", "src/vnet/ipsec/ipsec_types.api"},
		{"tap_flags", "25.02", "", EnumValue, "CONSISTENT_QP", "src/plugins/tap/tapv2.api"},
		{"af_packet_flags", "23.02", "", EnumValue, "VERSION_2", "src/plugins/af_packet/af_packet.api"},
		{"virtio_flags", "24.10", "", EnumValue, "RSS", "src/vnet/devices/virtio/virtio.api"},
		{"cnat_translation_flags", "23.10", "", EnumValue, "NO_RETURN_SESSION", "src/plugins/cnat/cnat.api"},
		{"sr_behavior", "25.02", "", EnumValue, "END_UN_PERF", "src/vnet/srv6/sr_types.api"},
		{"sr_behavior", "25.02", "", EnumValue, "END_UN", "src/vnet/srv6/sr_types.api"},
		{"sr_behavior", "25.02", "", EnumValue, "UA", "src/vnet/srv6/sr_types.api"},
		{"af_xdp_flag", "26.06", "", EnumValue, "MAC_REUSE", "src/plugins/af_xdp/af_xdp.api"},

		{"sw_interface_details.interface_dev_type(tap)", "", "25.10", StringValue, "virtio", "src/vnet/devices/virtio/device.c: virtio_device_class"},
		{"sw_interface_details.interface_dev_type(tap)", "26.02", "", StringValue, "tap", "src/plugins/tap/tap.c: tap_device_class"},

		{"ip_route_add_del", "", "23.06", NotMPSafe, "", "src/vnet/ip/ip_api.c: ip_api_hookup"},
		{"ip_route_add_del_v2", "", "23.06", NotMPSafe, "", "src/vnet/ip/ip_api.c: ip_api_hookup"},
	}
}

// Quirks are the facts that hold for one release.
type Quirks []Fact

// QuirksOf returns the facts that hold for a release.
func QuirksOf(v Version) Quirks {
	var q Quirks
	for _, f := range Facts() {
		if f.holds(v) {
			q = append(q, f)
		}
	}
	return q
}

func (f Fact) holds(v Version) bool {
	since, err := ParseVersion(f.Since)
	if err == nil && v.Compare(since) < 0 {
		return false
	}
	until, err := ParseVersion(f.Until)
	return err != nil || v.Compare(until) <= 0
}

// Find returns the parameter of a quirk of a message, and whether it has it.
func (q Quirks) Find(message string, kind Quirk) (detail string, ok bool) {
	for _, f := range q {
		if f.Message == message && f.Quirk == kind {
			return f.Detail, true
		}
	}
	return "", false
}

// HasEnumValue reports whether the release understands an enum value that was
// added without a change of CRC.
func (q Quirks) HasEnumValue(enum, value string) bool {
	for _, f := range q {
		if f.Message == enum && f.Quirk == EnumValue && f.Detail == value {
			return true
		}
	}
	return false
}
