package vocab

import "errors"

// ErrDestroyed is in the chain of an error when an earlier command made the environment
// unusable, by deleting the shell for example. The engine is not the cause: the same
// commands would destroy a new environment too. It is a result of the agent, not an
// infrastructure failure.
var ErrDestroyed = errors.New("an earlier command made the environment unusable")
