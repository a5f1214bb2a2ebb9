package client

import "context"

// Capabilities are what the VPP of the agent can do.
type Capabilities struct {
	VPP struct {
		Version   string
		PID       uint32
		Simulated bool
	}
	Items []Ability
}

// Ability is what VPP can do about a type of item.
type Ability struct {
	Item    string
	Plugin  string   // of VPP
	Uses    string   // the message; empty if items of the type are UNIMPLEMENTED
	Missing []string // the messages of ways that are newer than the one in use
}

// Capabilities returns what the VPP of the agent can do.
func (c *Client) Capabilities(ctx context.Context) (Answer[Capabilities], error) {
	return get[Capabilities](ctx, c, "/vpp/capabilities", nil)
}
