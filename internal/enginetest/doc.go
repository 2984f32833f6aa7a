// Package enginetest gives tests a Docker engine of their own, which they may
// stop, kill and start again, and small images made of the host's programs.
// The engine lives in namespaces of its own: what engines do to a machine when
// they start and end, such as deleting a bridge that is not theirs, reaches no
// other engine.
package enginetest
