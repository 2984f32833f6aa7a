// Package vocab defines the types and constants that all packages share: what
// happens in a run and where its attempts are, how an attempt ended, which image
// it ran in, what a command did, what a call used and costs, how an agent submits,
// and which instance ids are valid. Each is defined only here, so that a fact has
// the same form everywhere.
//
// It imports only the standard library.
//
// # Exit statuses
//
// The exit status is one word for how an attempt ended. It is in exit_statuses.yaml, in
// trajectories, in results.parquet and in every table. It decides the outcome, which is
// named after it here. Results are kept on resume and count in every score: without a
// patch, as not resolved.
//
//	Submitted               submitted, or empty where the patch is empty: the
//	                        agent submitted
//	LimitsExceeded          limit: agent.step_limit or agent.cost_limit; also a
//	                        reply of unknown price, if there is a cost limit
//	TimeExceeded            limit: the attempt worked as long as it may
//	ContextWindowExceeded   limit: the model does not accept such a long
//	                        conversation
//	RepeatedFormatError     format: too many replies in a row without a valid
//	                        command (agent.max_consecutive_format_errors)
//	ContentPolicyViolation  failed: the provider refuses the conversation's
//	                        content
//	EnvironmentDestroyed    failed: the agent's commands made its container
//	                        unusable
//	ProgramFailed           failed: the agent's own program ended with an error
//	                        after a call was answered
//	Answered                failed: an answer that calls no tool, if
//	                        agent.finish_without_calls lets it end an attempt
//	InputRequired           failed: the model asked a person (agent.ask)
//	Ended                   failed: a person ended a conversation that had no
//	                        result
//
// The others are not results. They never count against the model, and the next run or batch
// resume continues them. Outcome infrastructure, one for each kind of fault (below):
//
//	TransientFault  InstanceFault  HostFault  UsageFault  UnknownFault  Bug
//	ExpiredFault
//
// Outcome pending, and diverged:
//
//	not run           not begun, or the provider refused the run's first call
//	Running           it runs now
//	Interrupted       a stop or a crash ended it; it continues after its last
//	                  step
//	BudgetExceeded    --cost-limit-total is spent; a higher one continues it
//	UserInterruption  a person stopped a turn of a conversation
//	ReplayDiverged    diverged: resumed in a new container, its commands gave
//	                  other outputs, so it starts from the beginning
//
// Within an attempt, and not at its end, a message of a trajectory may have the
// interrupt_type FormatError (a reply without a valid command), ExecutionTimeout (a
// command took too long) or ModelError (a call failed, and the model is shown the error:
// agent.model_errors). The attempt continues after them.
//
// Folders of other tools may also have ContextWindowExceededError (limit) and
// ContentPolicyViolationError (failed). Unknown is a prediction without a status. Any
// other word counts as infrastructure.
//
// # Verdicts
//
// The verdict says how the grading of a prediction ended. Files have the word, tables the
// text in parentheses. The first six count in rates:
//
//	resolved        all tests of the row pass
//	unresolved      some do not, or they could not be run on this code
//	no_apply        (patch does not apply)
//	empty_patch     (empty patch) there was nothing to test
//	timed_out       (timed out) the tests took longer than their limit
//	no_reward       (no reward) the verifier of a task folder gave none
//	infrastructure  the engine, the image or the machine failed
//	ungradeable     the row or the log lacks what a verdict needs
//
// The last two say nothing about the model. They count in no rate; each rate shows how many
// are missing, and the next batch grade tries again.
package vocab
