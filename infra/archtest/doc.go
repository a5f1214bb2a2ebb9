// Package archtest tests the architecture: which packages may import which,
// and the limits on source code. Every failure states the reason of the rule.
// The package has no code besides its tests.
package archtest
