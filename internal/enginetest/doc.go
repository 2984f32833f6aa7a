// Package enginetest gives a test its own Docker engine, which it may
// stop, kill and start again, and small images made from the host's programs.
// The engine runs in its own namespaces, so that what an engine does to a machine when
// it starts and ends, such as deleting another engine's bridge, does not affect other
// engines.
package enginetest
