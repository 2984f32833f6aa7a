package run

import (
	"cmp"
	"fmt"
	"log/slog"

	"batch.example/batch/attempt"
	"batch.example/batch/vocab"
)

// ears implements attempt.Ears with the commands of other programs.
type ears struct {
	*Run
	log *slog.Logger
}

// Said implements attempt.Ears.
func (e ears) Said(instance string) (list []attempt.Said) {
	for _, r := range e.by.Said(e.part, instance) {
		list = append(list, attempt.Said{ID: r.ID, Text: r.Text, By: cmp.Or(r.User, fmt.Sprintf("user %d", r.UID))})
	}
	return list
}

// Heard implements attempt.Ears. If that cannot be recorded, the journal says it to the next process.
func (e ears) Heard(instance, id string) {
	if err := e.by.Heard(e.part, id); err != nil {
		e.log.Warn("not on record: that an agent has read a message", "instance", instance, "err", err)
	}
}

// limited returns the limits of an instance's attempts with what commands have set.
func (r *Run) limited(instance string, l vocab.Limits) vocab.Limits {
	set := r.by.LimitOf(r.part, instance)
	for _, k := range vocab.LimitKinds {
		if v, ok := set[k.Name]; ok {
			k.Set(&l, v)
		}
	}
	return l
}
