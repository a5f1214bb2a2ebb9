package plan

// await makes failed values wait for what they depend on, if that does not exist in the
// target: a retry could not succeed.
func (p *planner) await() {
	for _, gn := range p.failed {
		if p.of(gn) == nil && !p.metAll(&node{key: gn.Key, node: gn}, gn.Want) {
			p.late = append(p.late, gn.Key)
		}
	}
}
