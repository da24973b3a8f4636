"""Pictures filled by bmcg and by others."""
