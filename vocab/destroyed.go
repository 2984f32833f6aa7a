package vocab

import "errors"

// ErrDestroyed is in the chain of an error when commands could run in an environment
// and cannot any more, by what ran in it: its shell is not there any more, say. Neither
// the engine nor somebody else is the cause, and another environment comes to the same
// state when the same is done in it. It is a result of the agent, and no failure.
var ErrDestroyed = errors.New("what ran in the environment has made it unusable")
