// Package model places packet filter chains of Linux in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// RuleChainModel places chains at config/linux/iptables/v2/rulechain/{name}.
var RuleChainModel = models.Of[*iptables.RuleChain]()
