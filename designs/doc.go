// Package designs compares batch with the five designs that it was made from, statement by
// statement: which code implements a statement and which test shows it, or why it is not done. It
// has no code of its own; its test checks that everything that it names exists.
//
// The designs are mini-swe-agent's pages on the life of its agent, its control flow and its errors,
// a design of a stateful agent around a stateless loop, and the description of an agent with tools.
// The statements are rephrased.
//
// # 1. The life of an agent
//
//   - A run begins with the messages, takes steps in a loop, and ends for one stated reason.
//     [agent.Loop.Run], agent.TestRun.
//   - A step asks the model, reads the action from its reply, executes it, checks whether it
//     completes the task, and appends what was observed.
//     [agent.Loop], agent.TestRun, agent.TestTextActions, agent.TestToolCalls.
//   - Errors are handled so that a run can continue, and a person can interrupt it.
//     [agent.Interrupt], [agent.Interrupted], agent.TestFaults, agent.TestAnActionRunsOnlyWhenItIsApproved.
//   - Several agents that work together are outside the design.
//     Not done: as there. Many agents run beside each other, and do not know of each other.
//   - Keeping an agent beyond its run is outside that design, but the third one asks for it.
//     [session.Session], session.TestQuestionsAndAnswersOutliveAProcess.
//   - The agent depends on a model and an environment only, and returns a status and a result.
//     [llm.Model], [agent.Environment], [agent.Ending], agent.TestRun.
//   - What interrupts the flow is of two sorts: the run continues after one, and ends by the
//     other. [agent.Interrupt] for both: the run ends if its last message has the role exit.
//     agent.TestFormatErrors, agent.TestLimits.
//   - A run begins with a system message and the task.
//     [agent.Config], agent.TestRun.
//   - After an error that the run survives, the model reads the error as the next message.
//     [agent.Interrupt], agent.TestFormatErrors, agent.TestTimeout.
//   - A terminal condition appends a message too, and its name is the status.
//     [agent.Ending], [vocab.Status], agent.TestLimits.
//   - The task is complete when the output of a command begins with the marker; the rest of the
//     output is the result. [agent.Submitting], [vocab.Marker], agent.TestSubmission, agent.FuzzSubmission.
//   - The run ends when the model was called as often, or has cost as much, as the limits allow;
//     they are checked before each call. [agent.Config], agent.TestLimits.
//   - Replies in the wrong form and commands that run too long lead to a message and another
//     try. agent.TestFormatErrors, agent.TestTimeout, [vocab.StatusFormatError], [vocab.StatusExecutionTimeout].
//   - Any other error ends the run, and the program that started it reports the error.
//     [fault.Error], [solver.Solver.Save], agent.TestFaults, solver.TestAFailedAttemptIsSavedWithItsFaultKind.
//   - The last message says why the run ended. agent.TestLimits, [vocab.StatusSubmitted].
//   - An interactive agent extends the default one. [agent.Turn] has the hooks,
//     e2e/talk.TestScripts, e2e/talk.TestAChatOnATerminal.
//   - A visual interface extends it too.
//     Not done: `batch chat` is for a plain terminal, and its JSON lines are for other programs.
//   - Tests cover steps, whole runs, format errors, time-outs and limits, with environments that
//     always do the same. [agent.Environment], agent.TestRun, agent.TestLimits, agent.TestTimeout.
//
// # 2. Control flow
//
//   - Run initializes the messages and takes steps until the last message has the role exit.
//     [agent.Loop.Run], agent.TestRun.
//   - An interrupt's messages are appended; any other error leaves the loop.
//     [agent.Interrupt], agent.TestFaults.
//   - A step is a query and the execution of the actions in its reply. [agent.Loop], agent.TestRun.
//   - A query checks the limits, calls the model and appends the reply.
//     [llm.Model], agent.TestLimits.
//   - Every action of a reply is executed, and the observations are rendered and appended.
//     [agent.Environment], agent.TestToolCalls, agent/template.TestObservationGoldens.
//   - A submission interrupts the flow, and carries the message that ends the run.
//     There the environment raises it; here the agent reads it from the output, so that every
//     environment has it. [agent.Submitting], agent.TestSubmission.
//   - The interrupts are a submission, a limit, a reply in the wrong form, a command that ran
//     too long, and a person. [vocab.Status], [agent.Interrupted], agent.TestLimits,
//     agent.TestFormatErrors, agent.TestTimeout, agent.TestAnActionRunsOnlyWhenItIsApproved.
//   - The agent can be extended without changing its flow: tools, approval of actions, changes
//     of what is sent, listeners. [agent.Tool], [agent.Turn], [agent.Listener],
//     agent.TestToolsAreTakenFromTheTable, agent.TestARefusedConversationIsRewrittenOnce.
//   - Exceptions carry the flow. Not done: Go has none; errors that carry messages do the same.
//
// # 3. A stateful agent around a stateless loop
//
//   - The agent has the life and the history; the loop runs one turn over messages that it is
//     handed, and keeps nothing. [session.Session], [agent.Loop], [agent.Turn],
//     serve.TestContextsShareContainers.
//   - A context id identifies a session. [session.State], session.TestASessionHasTheStatusOfItsTurns.
//   - Messages, artifacts and state each have a store with a small interface. Here they are
//     records of one journal, so that a crash leaves them in agreement: nothing took a part of
//     the store alone. [session.Store], session.TestQuestionsAndAnswersOutliveAProcess.
//   - The history is kept in files, or in a database. [journal.Writer],
//     session.TestQuestionsAndAnswersOutliveAProcess.
//     A store in PostgreSQL was made and has left: no command could reach it, and one store is
//     tested harder than two. A program that needs another one implements [session.Store].
//   - A store in memory is for examples. Not done: an example opens a journal in a new folder.
//   - A turn loads the history, appends the person's message, runs the loop, saves what was said
//     and made, and yields events. [session.Session.Turn], session.TestTheEndsOfTurns.
//   - A turn calls the model, executes its tools, and repeats that until the model stops, a limit
//     is reached or an error occurs. [agent.Loop.Run], agent.TestRun, agent.TestLimits, agent.TestFaults.
//   - The model and the tools are configured with the session. Here a turn brings its model and
//     its environment, so that its credentials are its own. [session.Input],
//     serve.TestATurnHasItsCallersAuthority.
//   - It is saved after each turn, unless this is turned off. Here each event is saved before the
//     next paid or irreversible act, and always: what was paid for is not lost.
//     [session.Store], session.TestQuestionsAndAnswersOutliveAProcess, solver.TestPaidRepliesSurviveTheProcess.
//   - The conversation is made shorter only where that is asked for; else there is a warning.
//     [agent/compaction.Policy], [session.Config], session.TestALongConversationIsReportedOnceATurnAndLeftAsItIs.
//   - The state has a status (created, starting, ready, busy, paused, shutdown), the number of
//     turns, the time of the last activity, an error and metadata.
//     [session.State], [session.Status], session.TestASessionHasTheStatusOfItsTurns.
//   - Start loads the state of an earlier session. [session.Session.Start], session.TestQuestionsAndAnswersOutliveAProcess.
//   - A turn without words continues. [session.Session.Begin], session.TestAFailedTurnIsTriedAgain.
//   - A turn yields a stream of events, which several listeners may read.
//     [session.Turn.Events], [session.Event], serve.TestAListenerComesBack.
//   - Pause saves, and keeps the session in memory; it is resumed without loading anything.
//     [session.Session.Pause], session.TestASessionHasTheStatusOfItsTurns.
//   - Shutdown saves and releases everything. Here the store is closed by the program that has
//     opened it. [session.Session.Shutdown], session.TestASessionHasTheStatusOfItsTurns.
//   - The messages can be read, all or the last, or those since a time. [session.Session.Messages],
//     [session.Query], session.TestMessagesAreReadByTurnAndNumber.
//   - The artifacts can be read. [session.Session.Artifacts], session.TestArtifactsAreExact.
//   - The state can be saved by hand. [session.Session.Save], session.TestMetadataIsKept.
//   - The conversation and the artifacts can be cleared. [session.Session.Clear],
//     session.TestAClearedSessionHasForgotten.
//   - The loop has a maximum of iterations for a turn, a system prompt and tracing.
//     [agent.Config], [run/telemetry.Config], agent.TestLimits, run/telemetry.TestAnAttemptIsATreeOfSpans.
//   - The loop is given the turn's number and the artifacts.
//     Not done: it has no use for them. Events and artifacts have the number of their turn.
//   - In another process, the next turn has the whole history. session.TestQuestionsAndAnswersOutliveAProcess,
//     e2e/talk.TestAKilledChatContinues, e2e/talk.TestACommandThatAKillCutOffIsNotOfferedAgain, [session.Session.Start].
//   - A turn ends when the model has finished. [vocab.StatusAnswered], [journal.TurnFinished],
//     agent.TestAReplyWithoutCallsEndsTheRunWhereTheConfigSaysSo.
//   - It ends at the maximum of iterations, with a partial result and the reason.
//     [journal.TurnMaxIterations], [session.Result], session.TestTheEndsOfTurns.
//   - It ends when the person's input is required. [journal.TurnInputRequired], [agent.AskTool],
//     agent.TestTheModelAsksAPerson.
//   - It ends by an error; what was done until then is kept, and the error is in an event.
//     [journal.TurnFailed], session.TestAFailedTurnIsTriedAgain.
//   - After an error the status is failed. Not done: failed is the end of the turn; the session
//     is ready, and says that the turn can be tried again. [session.State], session.TestAFailedTurnIsTriedAgain.
//   - A failed turn can be tried again, or the session is shut down.
//     [session.Session.Begin], session.TestAFailedTurnIsTriedAgain.
//   - Context id, times, number of turns, status and metadata are saved by pause, shutdown and
//     each turn, and loaded by start. [session.StateOf], session.TestWhatComesTooEarlyOrTooLateIsRefused.
//   - Artifacts are saved when they are made, and loaded when they are needed.
//     [session.Session.SaveArtifact], session.TestArtifactsAreExact.
//   - Identity and credentials come with each turn, so that they can be renewed, and nothing
//     uses old ones. [authority.Authority], [session.Input], serve.TestATurnHasItsCallersAuthority,
//     authority.TestAnAuthorityIsNeverShown.
//   - Short-lived tokens work: one that has expired is an error of its own.
//     [fault.Expired], [authority.ErrExpired], session.TestATurnWhoseCredentialsExpireIsTriedAgain.
//   - An A2A server maps tasks to turns and contexts to sessions, several turns to one context.
//     [serve.Server], serve.TestAMessageIsATurn, e2e/talk.TestAServedContextSurvivesAKill.
//   - It streams events as they come (SSE), and internal events stay inside.
//     [serve.Server], serve.TestAStreamHasTheTurn.
//   - It makes a context id where the caller names none. [serve.Server], serve.TestAMessageIsATurn.
//   - It saves the session after each turn, and an error does not leave it open.
//     [serve.Server], serve.TestContextsSurviveARestart, e2e/talk.TestAServedContextSurvivesAKill.
//   - The session manages the history, not the loop. [session.Store], [agent.Turn],
//     serve.TestContextsShareContainers.
//   - A person can compact the history by hand. [session.Input], session.TestAPersonCompactsOnceATurn.
//   - The loop's old interface stays beside the new one for a while.
//     Not done: there was no interface before. A batch run's attempt is a session with one turn,
//     without a mode of its own: the attempt's records begin and end the turn. [session.Store],
//     [solver.Talk], solver.TestTheTrajectoryHasTheFormatOfMiniSWEAgent,
//     solver.TestABatchRunsTurnHasNoRecordsOfASession.
//
// # 4. Errors
//
//   - The agent recovers from what may pass, with clear messages, and cleans up.
//     [agent.Interrupt], agent.TestFormatErrors, solver.TestTheSandboxIsAlwaysClosed.
//   - It does not retry without end. [agent.Config], [llm.RetryPolicy], agent.TestFormatErrors.
//   - A reply without exactly one block of code is a format error; the model reads what was wrong
//     and writes another reply. agent.TestTextActions, agent.TestFormatErrors, [agent.ActionForm].
//   - A command that passes its time limit is killed, its output so far is kept, and the model
//     reads both. [vocab.Output], agent.TestTimeout.
//   - A submission ends the run at once. [vocab.StatusSubmitted], agent.TestSubmission.
//   - The limits are checked before each call, and zero means none. [agent.Config], agent.TestLimits.
//   - The message about a format error shows how many actions were found, and an example.
//     [agent.Config], agent.TestFormatErrors, agent/config.TestBuiltinPromptsRender.
//   - The message about a time-out shows the command's output and says what to avoid.
//     The command is in the conversation above it. [agent.Config], agent.TestTimeout.
//   - Errors go to the model, which decides what to do; nothing is retried behind its back.
//     agent.TestFormatErrors, [agent.Interrupt]. Failures of the provider are: the model has no
//     part in them. [llm.RetryPolicy], llm.TestRetryWaitsAndCountsTheWaiting.
//   - What can be recovered from and what ends a run are kept apart. [vocab.Statuses], agent.TestFaults.
//
// # 5. An agent with tools
//
//   - The agent repeats: ask the model, execute its tool calls, append their results.
//     [agent.Loop], agent.TestToolCalls.
//   - The system prompt names the tools and asks for work step by step.
//     [agent/config.Builtin], agent/config.TestBuiltinPromptsRender.
//   - The model, the working directory, the tools and the history are set up first.
//     [agent.ActionForm], [run.Prepare], agent.TestAnInvalidToolTableIsRefused.
//   - Messages have the roles system, user and assistant. Here tool results have a role of their
//     own. [llm.Message], agent.TestToolCalls.
//   - A call sends the whole history and the tools, and returns text and tool calls.
//     [llm.Request], [llm.Response], agent.TestRun.
//   - The calls of a reply are executed one after the other. Those that only read may run at the
//     same time. [agent.Tool], agent.TestToolCalls, agent.TestReadOnlyActionsRunAtTheSameTime.
//   - A result is a message of the user that names the tool.
//     Not done: providers refuse a tool call without a result that names it, and models read such
//     a result better.
//   - The task is done when the model writes that it is done.
//     Not done: a model that writes "this is not done yet" would end. It is done when it submits,
//     or stops calling tools, where the configuration says so. [agent.Config],
//     agent.TestAReplyWithoutCallsEndsTheRunWhereTheConfigSaysSo.
//   - The bash tool executes a command in the environment. [agent.BashTool], agent.TestToolCalls.
//   - The editor views files with line numbers, creates them, and replaces text.
//     [agent.EditorTool], agent.TestEditorViews, agent.TestEditorCreates, agent.TestEditorReplaces,
//     agent.FuzzEditorReplace.
//   - An error of a tool is a message, and the agent continues. [agent.Tool], agent.TestAToolsOwnErrorIsShownToTheModel.
//   - An error of the model is a message, and the agent continues. Only where this is asked for:
//     most such errors need no model to decide. [agent.Config], agent.TestTheModelIsShownThatACallFailed.
//   - There is a maximum of iterations, 30. Here it is agent.step_limit, with mini-swe-agent's default.
//     [agent.Config], agent.TestLimits.
//   - The temperature can be set, and is 0.7. Here it is model.model_kwargs.temperature; without it,
//     the provider's default holds. [agent/config.ModelConfig], llm/gemini.TestKwargsBecomeMembersOfTheRequest.
//   - The output can be verbose. [solver.Listen], solver.TestTheStepLogIsReadable.
//   - The history grows with everything that was said. [agent/compaction.Policy],
//     agent/compaction.TestAnyConversationStaysLegalAndIsShortEnough.
//   - The state of the task is not tracked. Here it is. [session.State], session.TestASessionHasTheStatusOfItsTurns.
//   - Nothing runs at the same time. Here calls that only read do. [agent.Tool],
//     agent.TestReadOnlyActionsRunAtTheSameTime.
package designs
