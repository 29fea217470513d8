"""The certificate: checks of an answer that do not trust the method that found it."""

from trajopt.certificate.certifying import certify
from trajopt.certificate.table import Certificate, Check

__all__ = ["Certificate", "Check", "certify"]
