# What AWS answers in terraform test.
mock_data "aws_ssm_parameter" {
  defaults = { insecure_value = "ami-0123456789abcdef0" }
}

mock_data "aws_ec2_instance_type" {
  defaults = { supported_architectures = ["arm64"], default_vcpus = 1, burstable_performance_supported = false }
}

mock_data "aws_ec2_instance_type_offerings" {
  defaults = { instance_types = ["c7g.medium", "c7g.large", "t4g.small"] }
}

mock_data "aws_servicequotas_service_quota" {
  defaults = { value = 20 }
}

mock_resource "aws_s3_bucket" {
  defaults = { arn = "arn:aws:s3:::locklab-test", id = "locklab-test" }
}

mock_resource "aws_iam_role" {
  defaults = { arn = "arn:aws:iam::123456789012:role/test" }
}

mock_resource "aws_instance" {
  defaults = { private_ip = "10.75.1.10" }
}
