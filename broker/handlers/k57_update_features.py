"""UpdateFeatures: v0-2.

Behaviour:
    - Upgrades, downgrades and disables features: all of a request or none. The error names the
      first feature that cannot have its level. v0 only upgrades, as in Kafka's controller.
    - INVALID_UPDATE_VERSION: an unknown feature, a level that the controller or a broker does not
      support, a lower level without a downgrade type, a higher one with it, a metadata.version
      whose downgrade would lose metadata.
    - With validate_only (v1) everything is checked and nothing changed. v0 and v1 return a result
      for each feature of a successful request.
    - A broker that emulates a release before 4.0 has a result for each feature, and each
      succeeds or fails alone.
    - Without ALTER on the cluster the error is CLUSTER_AUTHORIZATION_FAILED.
    - Without the feature share.version all share sessions end.
    - Every broker serves the request.

Gaps:
    - A level that this broker does not implement is refused, as by a controller that does not
      support it, although ApiVersions lists it as supported.
"""

from broker.administration.feature_update import FeatureUpdate, UpgradeType, update_features
from broker.authorization.checks import ALTER_CLUSTER
from broker.cluster.cluster import Cluster
from broker.cluster.share_loading import are_share_groups_enabled
from broker.config.api_versions import features_release_of
from broker.config.features import FEATURES_ARE_KNOWN_SINCE
from broker.errors import Refusal
from broker.request.cluster_operation import refuse_cluster_operation
from broker.request.context import RequestContext
from broker.routes import handles
from protocol import messages
from protocol.api_keys import ApiKey
from protocol.errors import ErrorCode
from protocol.pacing import may_pause, paced

_Result = messages.UpdateFeaturesResponse.UpdatableFeatureResult


@handles(ApiKey.UPDATE_FEATURES, checks=(ALTER_CLUSTER,))
@may_pause
def handle_update_features(
    context: RequestContext, request: "messages.UpdateFeaturesRequest", cluster: Cluster
) -> "messages.UpdateFeaturesResponse":
    """Kafka's `QuorumController.updateFeatures`."""
    version = context.api_version
    denial = refuse_cluster_operation(context, cluster, ALTER_CLUSTER)
    if denial is not None:
        return _response(denial.error_code, denial.error_message, [])
    updates = [
        FeatureUpdate(
            update.feature,
            update.max_version_level,
            update.upgrade_type if version >= 1 else UpgradeType.UPGRADE,
        )
        for update in paced(request.feature_updates)
    ]
    release = features_release_of(cluster.config.for_broker(context.broker_id))
    results = update_features(
        cluster, updates, release, validate_only=version >= 1 and request.validate_only
    )
    if not are_share_groups_enabled(cluster):
        cluster.share.switch_off(context.now_ms)
    if release < FEATURES_ARE_KNOWN_SINCE:
        return _response(
            ErrorCode.NONE, "", [_result(name, refusal) for name, refusal in results.items()]
        )
    for refusal in results.values():
        if refusal is not None:
            return _response(
                refusal.error_code,
                "The update failed for all features since the following feature had an error: "
                f"{refusal.error_message}",
                [],
            )
    return _response(
        ErrorCode.NONE,
        None,
        [
            _Result(feature=update.name, error_code=ErrorCode.NONE, error_message="NONE")
            for update in updates
        ],
    )


def _result(name: str, refusal: Refusal | None) -> _Result:
    return _Result(
        feature=name,
        error_code=ErrorCode.NONE if refusal is None else refusal.error_code,
        error_message=None if refusal is None else refusal.error_message,
    )


def _response(
    error_code: ErrorCode, error_message: str | None, results: list[_Result]
) -> "messages.UpdateFeaturesResponse":
    return messages.UpdateFeaturesResponse(
        throttle_time_ms=0,
        error_code=error_code,
        error_message=error_message,
        results=results,
    )
