package main

import (
	"errors"
	"fmt"

	"batch.example/batch/dataset"
)

// sayShare says which part of --cost-limit-total a shard may spend.
func (a *app) sayShare(limit float64, part dataset.Shard) {
	if limit > 0 && part.N > 1 {
		a.tell(fmt.Sprintf("%d shards divide --cost-limit-total %v: shard %s may cost %v USD", part.N, limit, part, limit/float64(part.N)))
	}
}

// reached says that the cost limit of a shard, or of the whole, is reached.
func reached(limit float64, part dataset.Shard) string {
	if part.N > 1 {
		return fmt.Sprintf("limit of %v USD reached, which is the part of --cost-limit-total %v for shard %s", limit/float64(part.N), limit, part)
	}
	return fmt.Sprintf("limit of %v USD reached", limit)
}

// unlessEmpty returns nil for the error that a shard has no instance, and says so: the other
// shards have all instances, so that this one is complete.
func (a *app) unlessEmpty(err error) error {
	if empty, ok := errors.AsType[*dataset.EmptyShardError](err); ok {
		a.tell("nothing to do: " + empty.Error())
		return nil
	}
	return err
}
