package binding

// Quirk is a kind of behaviour that name and CRC of a message do not tell.
type Quirk uint8

// The kinds of quirks.
const (
	// WrongReplyID: VPP answers with the ID of another message, named by
	// Fact.Detail; the layout is that of the expected one.
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
	// NotMPSafe: VPP stops its workers for each of these requests, though
	// newer releases do not.
	NotMPSafe
)

// Fact is one row of the quirks table. Where it comes from: reading the
// handlers of VPP 22.10 to 26.06, and comparing answers of real ones.
type Fact struct {
	// Message is the name of the message, or of the type for EnumValue.
	Message string
	// Since and Until bound the releases, both included; "" leaves it open.
	Since, Until string
	// Quirk is the kind, Detail its parameter.
	Quirk  Quirk
	Detail string
}

// Facts returns the table of all known quirks.
func Facts() []Fact {
	return []Fact{
		{"ipsec_spd_entry_add_del_v2", "22.10", "22.10", WrongReplyID, "ipsec_spd_entry_add_del_reply"},
		{"sr_policy_add_v2", "23.06", "24.02", WrongReplyID, "sr_policy_add_reply"},
		{"sr_policy_mod_v2", "23.06", "25.02", WrongReplyID, "sr_policy_mod_reply"},
		{"policer_input_v2", "23.06", "", WrongReplyID, "policer_input_reply"},
		{"policer_output_v2", "23.06", "", WrongReplyID, "policer_output_reply"},
		{"lcp_itf_pair_get_v2", "24.06", "", WrongReplyID, "lcp_itf_pair_get_reply"},
		{"acl_stats_intf_counters_enable", "", "", WrongReplyID, "acl_del_reply"},
		{"det44_close_session_in", "", "", WrongReplyID, "det44_close_session_out_reply"},
		{"ipfix_classify_table_add_del", "", "", WrongReplyID, "set_ipfix_classify_stream_reply"},
		{"nat44_ed_vrf_tables_v2_dump", "23.06", "", WrongReplyID, "nat44_ed_vrf_tables_details"},
		{"sw_vmxnet3_interface_dump", "", "", WrongReplyID, "vmxnet3_details"},

		{"nat44_ed_add_del_vrf_table", "", "23.02", OwnReplyID, ""},
		{"nat44_ed_add_del_vrf_route", "", "23.02", OwnReplyID, ""},
		{"ip_local_reass_get", "", "24.10", OwnReplyID, ""},

		{"proxy_arp_details", "", "25.06", TableIndex, "proxy.table_id"},

		{"gre_tunnel_dump", "25.10", "26.02", DumpDeclaredAsCall, ""},
		{"ipsec_backend_dump", "26.06", "", EmptyAnswer, ""},

		{"rdma_create_v3", "", "", UnswappedFields, "mode,rss4,rss6"},
		{"nat44_ed_vrf_tables_details", "", "", UnswappedFields, "vrf_ids"},

		{"ipsec_crypto_alg", "23.10", "", EnumValue, "AES_NULL_GMAC"},
		{"tap_flags", "25.02", "", EnumValue, "CONSISTENT_QP"},
		{"af_packet_flags", "23.02", "", EnumValue, "VERSION_2"},
		{"virtio_flags", "24.10", "", EnumValue, "RSS"},
		{"sr_behavior", "25.02", "", EnumValue, "END_UN_PERF"},
		{"sr_behavior", "25.02", "", EnumValue, "END_UN"},
		{"sr_behavior", "25.02", "", EnumValue, "UA"},
		{"af_xdp_flag", "26.06", "", EnumValue, "MAC_REUSE"},

		{"sw_interface_details.interface_dev_type(tap)", "", "25.10", StringValue, "virtio"},
		{"sw_interface_details.interface_dev_type(tap)", "26.02", "", StringValue, "tap"},

		{"ip_route_add_del", "", "23.06", NotMPSafe, ""},
		{"ip_route_add_del_v2", "", "23.06", NotMPSafe, ""},
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
