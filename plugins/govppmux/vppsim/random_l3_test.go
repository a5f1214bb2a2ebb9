package vppsim_test

// randomL3Requests is randomRequests for what is above routes and neighbours.
func randomL3Requests(pick func(...string) string) []func() string {
	index := func() string { return pick("1", "2", "3", "4", "5") }
	flag := func() string { return pick("true", "false") }
	bit := func() string { return pick("0", "1") }
	addr := func() string { return pick("10.0.0.1", "10.0.0.2", "10.0.1.1", "10.1.0.1") }
	table := func() string { return pick("0", "0", "1", "2") }
	vr := func() string { return `"sw_if_index":` + index() + `,"vr_id":` + pick("1", "2") }
	// None through other routes: what VPP shows of their next hops depends on how
	// path lists are shared.
	path := func() string {
		return pick(`{"sw_if_index":`+index()+`,"nh":"`+addr()+`"}`, `{"sw_if_index":`+index()+`}`)
	}
	return []func() string{
		func() string {
			return `proxy_arp_add_del {"is_add":` + flag() + `,"proxy":{"table_id":` + table() + `,"low":"` + addr() + `","hi":"` + addr() + `"}}`
		},
		func() string {
			return `proxy_arp_intfc_enable_disable {"sw_if_index":` + index() + `,"enable":` + flag() + `}`
		},
		func() string {
			return `l3xc_update {"l3xc":{"sw_if_index":` + index() + `,"paths":[` + path() + `,` + path() + `]}}`
		},
		func() string { return `l3xc_del {"sw_if_index":` + index() + `}` },
		func() string {
			return `teib_entry_add_del {"is_add":` + bit() + `,"entry":{"sw_if_index":` + index() + `,"peer":"` + addr() + `","nh": "` + addr() + `","nh_table_id":` + table() + `}}`
		},
		func() string {
			return `dhcp_proxy_config {"is_add":` + flag() + `,"rx_vrf_id":` + table() + `,"server_vrf_id":` + table() + `,"dhcp_server":"` + addr() + `","dhcp_src_address":"` + addr() + `"}`
		},
		func() string {
			return `vrrp_vr_add_del {"is_add":` + bit() + `,` + vr() + `,"priority":` + pick("100", "255") + `,"interval":4000,"addrs":["` + addr() + `"]}`
		},
		func() string { return `vrrp_vr_start_stop {` + vr() + `,"is_start":` + bit() + `}` },
	}
}

// randomL3Dumps are the requests that show it.
func randomL3Dumps() []string {
	return []string{
		`proxy_arp_dump`, `proxy_arp_intfc_dump`, `l3xc_dump {"sw_if_index":4294967295}`, `teib_dump`, `dhcp_proxy_dump`,
		`vrrp_vr_dump {"sw_if_index":4294967295}`,
	}
}
