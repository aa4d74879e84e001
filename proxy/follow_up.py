"""Go on with a response of the cluster: another request, or what the client gets."""

from collections.abc import Callable

from broker.pending_response import Failed, PendingResponse
from broker.responses import CompletedResponse, DispatchResult, PendingFrame
from protocol.pacing import may_pause


@may_pause
def follow_up(
    result: DispatchResult, go_on: Callable[[CompletedResponse], DispatchResult]
) -> DispatchResult:
    """Return what `go_on` makes of a response, now or when it arrives."""
    if not isinstance(result, PendingFrame):
        return go_on(result)
    first, encode = result
    pending = PendingResponse(on_cancel=first.cancel, on_force_complete=first.force_complete)

    def arrive(response: object) -> None:
        pending.attempt(lambda: _pass_on(go_on(encode(response)), pending))

    if first.is_done:
        return go_on(encode(first.response))
    first.attach(arrive)
    return PendingFrame(pending, _raise_if_failed)


@may_pause
def _pass_on(result: DispatchResult, pending: PendingResponse) -> None:
    """Complete a response with what has come of the one before, or have it follow that."""
    if not isinstance(result, PendingFrame):
        pending.complete(result)
        return
    following, encode = result
    if following.is_done:
        pending.complete(encode(following.response))
        return
    pending.follow(following)
    following.attach(lambda late: pending.attempt(lambda: pending.complete(encode(late))))


def _raise_if_failed(response: CompletedResponse | Failed) -> CompletedResponse:
    if isinstance(response, Failed):
        raise response.error
    return response
