package document

import "strings"

// SuggestPrefix returns the prefix of the keys that a key without a model was
// probably meant to have, such as config/vpp/nat/v2/ for
// vpp/config/v2/nat44/dnat/x; empty if no prefix is similar.
func (c *Codec) SuggestPrefix(key string) string {
	if prefix := legacyPrefix(key); prefix != "" {
		return prefix
	}
	return c.nearestPrefix(key)
}

// legacyPrefix is the prefix that keys of the predecessor's first releases
// (vpp/config/v1/..., vpp/config/v2/...) have now.
func legacyPrefix(key string) string {
	part := strings.SplitN(key, "/", 6)
	if len(part) < 4 || part[1] != "config" || !strings.HasPrefix(part[2], "v") {
		return ""
	}
	kind := part[0] + " " + part[3]
	if kind == "vpp bd" && len(part) == 6 && strings.HasPrefix(part[5], "fib") {
		kind = "vpp fib"
	}
	return legacyPrefixes()[kind]
}

// legacyPrefixes are the prefixes of today, by agent and kind of the former key.
func legacyPrefixes() map[string]string {
	return map[string]string{
		"vpp interface":          "config/vpp/v2/interfaces/",
		"vpp interfaces":         "config/vpp/v2/interfaces/",
		"vpp span":               "config/vpp/v2/span/",
		"vpp bd":                 "config/vpp/l2/v2/bridge-domain/",
		"vpp fib":                "config/vpp/l2/v2/fib/",
		"vpp xconnect":           "config/vpp/l2/v2/xconnect/",
		"vpp route":              "config/vpp/v2/route/",
		"vpp vrf":                "config/vpp/v2/route/",
		"vpp vrf-table":          "config/vpp/v2/vrf-table/",
		"vpp arp":                "config/vpp/v2/arp/",
		"vpp proxyarp":           "config/vpp/v2/proxyarp-global",
		"vpp proxyarp-global":    "config/vpp/v2/proxyarp-global",
		"vpp ipneigh":            "config/vpp/v2/ipscanneigh-global",
		"vpp ipscanneigh-global": "config/vpp/v2/ipscanneigh-global",
		"vpp dhcp-proxy":         "config/vpp/v2/dhcp-proxy/",
		"vpp acl":                "config/vpp/acls/v2/acl/",
		"vpp abf":                "config/vpp/abfs/v2/abf/",
		"vpp nat44":              "config/vpp/nat/v2/",
		"vpp nat":                "config/vpp/nat/v2/",
		"vpp ipsec":              "config/vpp/ipsec/v2/",
		"vpp punt":               "config/vpp/v2/tohost/",
		"vpp stn":                "config/vpp/stn/v2/rule/",
		"vpp srv6":               "config/vpp/srv6/v2/",
		"linux interface":        "config/linux/interfaces/v2/interface/",
		"linux interfaces":       "config/linux/interfaces/v2/interface/",
		"linux route":            "config/linux/l3/v2/route/",
		"linux arp":              "config/linux/l3/v2/arp/",
		"linux iptables":         "config/linux/iptables/v2/rulechain/",
	}
}
