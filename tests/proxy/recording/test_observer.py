"""What passes a proxy as bytes reaches the recorder."""

from protocol import messages
from protocol.api_keys import ApiKey
from protocol.codec import encode_request, frame_response
from broker.request.context import RequestContext
from broker.request.session import Session
from proxy.recording.kept_records import KeptRecords
from proxy.recording.observer import RecordingObserver
from proxy.recording.recorder import Recorder
from proxy.recording.scrubbing import UNSCRUBBED
from tests.batches import make_batch
from tests.proxy.recording.fetched import TOPIC_ID, produced
