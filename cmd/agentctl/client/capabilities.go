package client

import (
	"context"
	"encoding/json"
)

// Capabilities are what the VPP of the agent can do. The JSON that they came from is
// in Raw.
type Capabilities struct {
	VPP struct {
		Version   string
		PID       uint32
		Simulated bool
	}
	Items []Ability

	Raw json.RawMessage `json:"-"`
}

// Ability is what VPP can do about a type of item.
type Ability struct {
	Item    string
	Plugin  string   // of VPP
	Uses    string   // the message; empty if items of the type are UNIMPLEMENTED
	Missing []string // the messages of ways that are newer than the one in use
}

// UnmarshalJSON reads the list and keeps the text.
func (c *Capabilities) UnmarshalJSON(data []byte) error {
	type plain Capabilities
	if err := json.Unmarshal(data, (*plain)(c)); err != nil {
		return err
	}
	c.Raw = append(json.RawMessage(nil), data...)
	return nil
}

// Capabilities asks what the VPP of the agent can do.
func (c *Client) Capabilities(ctx context.Context) (out Capabilities, err error) {
	err = c.getJSON(ctx, "/vpp/capabilities", nil, &out)
	return out, err
}
