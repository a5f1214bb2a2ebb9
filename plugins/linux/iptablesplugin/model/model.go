// Package model places packet filter chains of Linux in the key space.
package model

import (
	"github.com/tenuto-dev/tenuto/infra/models"
	iptables "github.com/tenuto-dev/tenuto/proto/ligato/linux/iptables"
)

// RuleChainModel is the model of chains.
var RuleChainModel = models.Of[*iptables.RuleChain]()
